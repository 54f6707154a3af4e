//! Whatever the sources do, each answer is told once, whole, and in its order.

use homeagent_providers::Policy;
use homeagent_types::OutputKind;
use proptest::prelude::*;

use crate::mind::Mind;
use crate::vendor::{Ending, Reply, Vendor, end, error, text};
use crate::world::{World, hasty};

/// What a source does with one request.
#[derive(Clone, Debug)]
enum Does {
    /// It answers with so many pieces.
    Answer(usize),
    /// It breaks after so many pieces.
    Break(usize),
    /// It fails with this status.
    Fail(u16),
    /// It ends well, and has said nothing.
    Nothing,
}

impl Does {
    fn any() -> impl Strategy<Value = Self> {
        prop_oneof![
            3 => (1..4usize).prop_map(Does::Answer),
            3 => (0..4usize).prop_map(Does::Break),
            2 => prop_oneof![Just(400), Just(401), Just(402), Just(429), Just(500), Just(529)].prop_map(Does::Fail),
            1 => Just(Does::Nothing),
        ]
    }

    /// The answer; its pieces bear the mark, which no other answer has.
    fn reply(&self, mark: &str) -> Reply {
        match self {
            Does::Answer(pieces) => {
                let mut pieces = written(mark, *pieces);
                pieces.push(end());
                Reply::Stream { pieces, ending: Ending::Proper }
            }
            Does::Break(pieces) => Reply::Stream { pieces: written(mark, *pieces), ending: Ending::Broken },
            Does::Fail(status) => error(*status, "{\"error\":{\"message\":\"it failed\"}}"),
            Does::Nothing => Reply::Stream { pieces: vec![end()], ending: Ending::Proper },
        }
    }

    /// The text of a whole answer.
    fn text(&self, mark: &str) -> Option<String> {
        let Does::Answer(pieces) = self else { return None };
        Some((0..*pieces).map(|piece| format!("{mark}.{piece} ")).collect())
    }
}

fn written(mark: &str, pieces: usize) -> Vec<String> {
    (0..pieces).map(|piece| text(&format!("{mark}.{piece} "))).collect()
}

fn mark(source: usize, request: usize) -> String {
    format!("s{source}r{request}")
}

/// What the channel is told of a conversation of so many messages, with sources that do this.
async fn tell(scripts: &[Vec<Does>], messages: usize) {
    let world = World::new(Policy { attempts: 2, probe: std::time::Duration::ZERO, ..hasty() });
    world.settings.set("core.model.wait_seconds", 1).expect("set");
    let mut vendors = Vec::new();
    for (source, script) in scripts.iter().enumerate() {
        let replies = script.iter().enumerate().map(|(request, does)| does.reply(&mark(source, request)));
        let vendor = Vendor::start(replies.collect()).await;
        world.add(&format!("source{source}"), &vendor.url);
        vendors.push(vendor);
    }
    let whole: Vec<String> = scripts
        .iter()
        .enumerate()
        .flat_map(|(source, script)| {
            script.iter().enumerate().filter_map(move |(request, does)| does.text(&mark(source, request)))
        })
        .collect();
    let mind = Mind::new(&world).await;
    let mut told = Vec::new();
    for message in 0..messages {
        mind.channel.take_shown();
        mind.say(&format!("message {message}")).await;
        let output = mind.channel.next().await;
        let shown = mind.channel.take_shown();
        match &output.kind {
            OutputKind::Reply if whole.contains(&output.text) => {
                // What was shown before is the same text, and nothing of another attempt.
                assert_eq!(shown, output.text);
                told.push(output.text);
            }
            // The model had no words, and the host says so.
            OutputKind::Reply => assert_eq!((output.text.as_str(), shown.as_str()), ("The model gave no words.", "")),
            OutputKind::Notice(_) => {
                assert!(!output.text.is_empty() && !output.text.contains("s0r"), "{}", output.text);
                // At most one broken part stands there: that of the last attempt that showed something.
                let marks: std::collections::BTreeSet<_> =
                    shown.split_whitespace().filter_map(|piece| piece.split('.').next()).collect();
                assert!(marks.len() <= 1, "{shown}");
            }
            other => panic!("{other:?}"),
        }
    }
    assert!(mind.channel.rest().await.is_empty(), "nothing is told twice");
    let mut once = told.clone();
    once.sort();
    once.dedup();
    assert_eq!(once.len(), told.len(), "{told:?}");
    // In the order of the requests: each source's answers come as it gave them.
    for source in 0..scripts.len() {
        let of_it: Vec<_> = told.iter().filter(|text| text.starts_with(&format!("s{source}r"))).collect();
        let in_order = whole.iter().filter(|text| of_it.contains(text)).collect::<Vec<_>>();
        assert_eq!(of_it, in_order);
    }
    mind.agent.shutdown().await;
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, max_shrink_iters: 40, ..ProptestConfig::default() })]

    #[test]
    fn each_answer_is_told_once_and_whole(
        scripts in prop::collection::vec(prop::collection::vec(Does::any(), 1..6), 1..4),
        messages in 1..4usize,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(tell(&scripts, messages));
    }
}
