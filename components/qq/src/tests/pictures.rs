//! Pictures, which are fetched before their addresses expire.

use homeagent_sdk::{Media, MediaSource};
use serde_json::{Value, json};

use super::{Bench, text_of};
use crate::fetch::{Fetched, LARGEST};
use crate::samples::{private, text};
use crate::waiting::Changes;

const URL: &str = "http://gchat.qpic.cn/gchatpic_new/1/2-3-ABC/0?term=2";
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n";

fn picture(url: &str) -> Value {
    json!({"type": "image", "data": {"file": "ABC.image", "url": url}})
}

impl Bench {
    /// The next picture is there.
    fn fetched(&mut self, fetched: Fetched) {
        let (draft, url, _) = self.fetches.remove(0);
        let effects = self.qq.fetched(draft, url, fetched, &self.settings, self.now);
        self.take(effects);
    }

    fn media(&self) -> &[Media] {
        &self.input().media
    }
}

#[test]
fn a_picture_is_fetched_and_goes_along() {
    let mut bench = Bench::new();
    bench.hear(&private(1, &json!([text("这是什么？"), picture(URL)])));
    bench.hear(&private(2, &json!("看看")));
    assert_eq!(bench.fetches[0].2, URL.replace("http://", "https://"), "asked for over TLS");
    assert!(bench.inputs.is_empty(), "both wait for it, in order");
    bench.fetched(Fetched::read(PNG.to_vec()));
    assert_eq!(bench.heard(), ["这是什么？", "看看"]);
    let media = &bench.inputs[0].media;
    assert_eq!((media[0].mime.as_str(), &media[0].source), ("image/png", &MediaSource::Inline(PNG.to_vec())));
}

#[test]
fn a_picture_that_lies_elsewhere_goes_by_its_address() {
    let mut bench = Bench::new();
    bench.hear(&private(1, &json!([picture("https://example.com/a.png")])));
    assert!(bench.fetches.is_empty());
    assert_eq!(bench.media()[0].source, MediaSource::Url("https://example.com/a.png".to_owned()));
}

#[test]
fn a_picture_that_could_not_be_fetched_goes_by_its_address_and_one_that_is_gone_not_at_all() {
    let came = |fetched: Fetched| {
        let mut bench = Bench::new();
        bench.hear(&private(1, &json!([text("看"), picture(URL)])));
        bench.fetched(fetched);
        (text_of(bench.input()).to_owned(), bench.media().iter().map(|it| it.source.clone()).collect::<Vec<_>>())
    };
    let address = || vec![MediaSource::Url(URL.to_owned())];
    assert_eq!(came(Fetched::Unknown), ("看".to_owned(), address()));
    assert_eq!(came(Fetched::TooLarge), ("看[图片:ABC.image，太大，只附上地址]".to_owned(), address()));
    assert_eq!(came(Fetched::Gone), ("看[图片:ABC.image，取不到了]".to_owned(), Vec::new()));
}

#[test]
fn pictures_that_are_too_large_together_go_by_their_addresses() {
    let mut bench = Bench::new();
    let urls: Vec<String> = (0..6).map(|n| format!("https://gchat.qpic.cn/{n}")).collect();
    bench.hear(&private(1, &urls.iter().map(|url| picture(url)).collect()));
    assert_eq!(bench.fetches.len(), 4, "so many of one message");
    for _ in 0..4 {
        let mut bytes = PNG.to_vec();
        bytes.resize(LARGEST / 2, 0);
        bench.fetched(Fetched::read(bytes));
    }
    let inline = |media: &&Media| matches!(media.source, MediaSource::Inline(_));
    assert_eq!((bench.media().len(), bench.media().iter().filter(inline).count()), (6, 2));
}

#[test]
fn a_picture_of_the_clients_is_taken_from_it() {
    let asked = |answer: Value| {
        let mut bench = Bench::new();
        bench.hear(&private(1, &json!([{"type": "image", "data": {"file": "a.png"}}])));
        let (action, params, echo) = bench.asked();
        assert_eq!((action.as_str(), params), ("get_image", json!({"file": "a.png"})));
        bench.answer(&echo, &answer);
        (text_of(bench.input()).to_owned(), bench.media().iter().map(|it| it.source.clone()).collect::<Vec<_>>())
    };
    let (said, media) = asked(json!({"file": "/tmp/a.png", "base64": "iVBORw0KGgo="}));
    assert_eq!((said.as_str(), media), ("[图片]", vec![MediaSource::Inline(PNG.to_vec())]));
    let (said, media) = asked(json!({"file": "/tmp/a.png"}));
    assert_eq!(
        (said.as_str(), media),
        ("[图片:a.png，在客户端的机器上，取不到]", Vec::new()),
        "no model could fetch it"
    );
}

#[test]
fn pictures_that_are_still_to_come_are_counted() {
    let mut bench = Bench::new();
    for id in 0..60 {
        let mut frame = private(id, &json!([picture(&format!("https://gchat.qpic.cn/{id}"))]));
        frame["user_id"] = json!(20_002_000 + id);
        bench.hear(&frame);
    }
    assert_eq!(bench.fetches.len(), (12 << 20) / LARGEST, "as many as there is room for");
    assert_eq!(bench.inputs.len(), 60 - bench.fetches.len(), "the others go by their addresses");
    bench.fetched(Fetched::Gone);
    bench.hear(&private(70, &json!([picture("https://gchat.qpic.cn/70")])));
    assert!(bench.fetches.iter().any(|(_, url, _)| url.ends_with("/70")), "there is room again");
}

#[test]
fn a_picture_is_not_waited_for_for_ever() {
    let mut bench = Bench::new();
    bench.hear(&private(1, &json!([text("看"), picture(URL)])));
    let (draft, _, _) = bench.fetches[0].clone();
    assert!(bench.qq.wants_picture(draft, bench.now));
    bench.pass(9_000);
    assert!(!bench.qq.wants_picture(draft, bench.now), "it is not begun with any more");
    assert!(bench.inputs.is_empty(), "one that was begun with may still come");
    bench.pass(6_000);
    assert_eq!(bench.media()[0].source, MediaSource::Url(URL.to_owned()));
    assert!(!bench.qq.wants_picture(draft, bench.now), "nobody waits for it");
}

#[test]
fn a_message_that_waits_is_on_the_disk_until_the_agent_has_it() {
    let mut bench = Bench::new();
    let frame = private(1, &json!([picture(URL)]));
    bench.hear(&frame);
    let key = "waiting/10001000:1:1790000000".to_owned();
    let kept = bench.qq.unwritten();
    assert_eq!((kept.kept.as_slice(), kept.gone.len()), ([(key.clone(), frame.clone())].as_slice(), 0));
    assert_eq!(bench.qq.unwritten(), Changes::default(), "once");
    bench.qq.not_written(kept);
    assert_eq!(bench.qq.unwritten().kept.len(), 1, "or again, where that failed");
    // Nothing else is left of this instance.
    let mut next = Bench { qq: crate::state::Qq::new("u".to_owned()), ..Bench::new() };
    next.qq.recall(vec![(key.clone(), Some(frame)), ("waiting/x".to_owned(), None)]);
    assert_eq!(next.qq.unwritten().gone, ["waiting/x"], "what can't be read goes");
    next.connect(1, &[("x-self-id", crate::samples::ME)]);
    assert_eq!(next.qq.unwritten(), Changes::default(), "it waits again");
    next.fetched(Fetched::read(PNG.to_vec()));
    assert_eq!((next.media().len(), next.qq.unwritten().gone), (1, vec![key]));
}

#[test]
fn what_the_agent_has_not_taken_yet_is_on_the_disk_before_what_was_said_after_it() {
    let mut bench = Bench::new();
    bench.agent_takes = false;
    let frames =
        [private(1, &json!([text("一")])), private(2, &json!([picture(URL)])), private(3, &json!([text("三")]))];
    for frame in &frames {
        bench.hear(frame);
    }
    assert_eq!(bench.inputs.len(), 1);
    let kept: Vec<Value> = bench.qq.unwritten().kept.into_iter().map(|(_, frame)| frame).collect();
    assert_eq!(kept, frames);
    let first = bench.inputs[0].platform_id.clone();
    bench.qq.passed(first.as_deref());
    assert_eq!(bench.qq.unwritten().gone.len(), 1);
}

#[test]
fn a_picture_that_is_being_fetched_is_fetched_anew_by_the_next_instance() {
    let mut bench = Bench::new();
    bench.hear(&private(1, &json!([picture(URL)])));
    let state = bench.qq.save();
    let mut next = Bench { qq: crate::state::Qq::new("u".to_owned()), ..Bench::new() };
    next.qq.load(&state).expect("it takes over");
    next.open(&super::connection(1, &[("x-self-id", crate::samples::ME)], true));
    next.fetched(Fetched::read(PNG.to_vec()));
    assert_eq!(next.media().len(), 1);
}
