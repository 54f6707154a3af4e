//! The whole mind: an agent with its sources, a tool and a channel. A turn looks twice with its tool and then answers;
//! the fault meets it at its first or at its second call of the model.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use homeagent_agent::{Agent, Parts};
use homeagent_journal::Journal;
use homeagent_media::Store;
use homeagent_memory::context::RelevanceContext;
use homeagent_model_tests::Home;
use homeagent_settings::Bindings;
use homeagent_test_vendors::{Fault, Format, Vendor};
use homeagent_types::ports::{Mind as _, Models, Plugins};
use homeagent_types::{Effect, Output, OutputKind, Payload, Peer, Shown, Submission, ToolOutput};
use serde_json::json;

use crate::matrix::{Gets, expected};
use crate::plugins::{FakePlugins, channel, tool};
use crate::{Outcome, Place, add, home, other, plain, play};

/// What the agent's side of a case is.
struct Mind {
    agent: Arc<Agent>,
    plugins: Arc<FakePlugins>,
    /// The arguments of each call of `look`.
    looks: Arc<Mutex<Vec<String>>>,
}

impl Mind {
    async fn start(home: &Home) -> Self {
        let plugins = FakePlugins::new();
        plugins.offer_channel(channel("cli"));
        let looks = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&looks);
        plugins.offer_tool("eyes", tool("look", Effect::Read), move |args, _| {
            seen.lock().unwrap_or_else(PoisonError::into_inner).push(args.clone());
            let number = serde_json::from_str::<serde_json::Value>(&args).map(|args| args["n"].clone());
            Box::pin(async move { Ok(ToolOutput::text(&format!("cup {}", number.unwrap_or_default()))) })
        });
        let bindings = Bindings::open(&home.database).expect("the bindings open");
        bindings.bind("cli", "me", "owner").expect("bound");
        let media = Store::open(homeagent_media::Parts {
            home: home.folder.path().to_path_buf(),
            settings: home.settings.clone(),
            network: None,
            clock: Arc::new(homeagent_types::now),
        })
        .expect("the store opens");
        let journal = Journal::open(&home.database).expect("the journal opens");
        let context = RelevanceContext::of_home(home.folder.path(), &journal, &home.settings);
        let agent = Agent::start(Parts {
            journal,
            settings: home.settings.clone(),
            bindings,
            plugins: Arc::clone(&plugins) as Arc<dyn Plugins>,
            models: Arc::clone(&home.providers) as Arc<dyn Models>,
            media,
            context: context.expect("the contexts open"),
            memory: None,
            toolboxes: Vec::new(),
            home: home.folder.path().to_path_buf(),
        });
        Mind { agent: agent.await.expect("the agent starts"), plugins, looks }
    }

    /// Says something, waits until the turn is over, and returns all that was sent.
    async fn hears(&self, text: &str) -> Vec<Output> {
        let said = Submission {
            platform_id: None,
            peer: Peer::Person("me".to_owned()),
            user: "me".to_owned(),
            display_name: None,
            connection: None,
            kind: "message".to_owned(),
            payload: Payload::Text(text.to_owned()),
            media: Vec::new(),
            reply_route: None,
            received_at: None,
            meta: Vec::new(),
        };
        self.agent.submit("cli", None, said).await.expect("it is taken");
        let mut sent = vec![self.plugins.next_output().await];
        // What else the turn had to send is there when the agent has stopped.
        self.agent.shutdown().await;
        sent.extend(self.plugins.rest().await);
        sent
    }

    /// The text that somebody sees who watches the answer grow, when it is over.
    fn shown(&self) -> String {
        let mut text = String::new();
        for piece in self.plugins.shown.lock().expect("not poisoned").iter() {
            match piece {
                Shown::Text(piece) => text.push_str(piece),
                Shown::Void => text.clear(),
                _ => {}
            }
        }
        text
    }
}

async fn run(fault: Fault, format: Format, place: Place, before: usize) -> Outcome {
    let home = home(fault, place);
    for (key, value) in [("core.agent.merge_ms", 0), ("core.agent.max_reply_bytes", 16_384), ("core.agent.rounds", 6)] {
        home.settings.set(key, json!(value)).expect("a setting");
    }
    let gets = match (place, fault) {
        (Place::Once, _) => Gets::Answer,
        // What a model has said is cut where the agent's own limit is, before that of the sources.
        (_, Fault::Endless) => Gets::Words,
        _ => expected(format, fault).0,
    };
    if gets == Gets::Ended {
        home.settings.set("core.agent.turn_seconds", json!(3)).expect("a setting");
    }
    let sick = Vendor::start(format, "sick").await;
    let well = Vendor::start(other(format), "well").await;
    sick.then(std::iter::repeat_n(None, before));
    if place == Place::Once {
        sick.then([Some(fault)]);
    } else {
        sick.always(fault);
    }
    add(&home, "sick", format, &sick);
    if place == Place::First {
        add(&home, "well", other(format), &well);
    }
    let mind = Mind::start(&home).await;
    let patience = Duration::from_secs(120);
    let Ok(sent) = tokio::time::timeout(patience, mind.hears("Please look twice.")).await else {
        return Outcome { line: String::new(), wrong: vec!["the turn does not end".to_owned()] };
    };
    home.keeps_its_key(&format!("{sent:?} {:?}", mind.plugins.published.lock().expect("not poisoned")));

    let mut wrong = Vec::new();
    let mut claim = |holds: bool, what: String| {
        if !holds {
            wrong.push(what);
        }
    };
    for vendor in [&sick, &well] {
        claim(vendor.refused().is_empty(), format!("a vendor refuses the request: {:?}", vendor.refused()));
    }
    claim(sent.len() == 1, format!("{} messages were sent: {sent:?}", sent.len()));
    let looks = mind.looks.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let mut once = looks.clone();
    once.dedup();
    claim(once == looks, format!("the tool ran twice for one call: {looks:?}"));
    let Output { text, kind, .. } = &sent[0];
    let answered = gets == Gets::Answer || (place == Place::First && matches!(gets, Gets::Sentence | Gets::Nothing));
    if answered {
        let by = if gets == Gets::Answer { "sick" } else { "well" };
        let cup = |number: u32| format!("<data from=\"look\">\ncup {number}\n</data>");
        let whole = format!("This is {by}: 我看到 {} and {}.", cup(1), cup(2));
        claim(*text == whole, format!("the answer is {text:?}"));
        claim(*kind == OutputKind::Reply, format!("it is sent as {kind:?}"));
        claim(mind.shown() == *text, format!("{:?} was shown", mind.shown()));
        claim(looks.len() == 2, format!("the tool ran {} times", looks.len()));
    } else {
        claim(!text.trim().is_empty(), "nothing was said".to_owned());
    }
    let shortened: String = text.chars().take(300).collect();
    Outcome { line: format!("{kind:?}: {}", plain(&shortened, &sick)), wrong }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_whose_first_call_of_the_model_fails_ends_with_one_message() {
    insta::assert_snapshot!(play(|fault, format, place| run(fault, format, place, 0)).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_whose_second_call_of_the_model_fails_ends_with_one_message() {
    insta::assert_snapshot!(play(|fault, format, place| run(fault, format, place, 1)).await);
}
