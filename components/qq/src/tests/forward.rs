//! Clients that are the servers, to which we connect.

use homeagent_sdk::Peer;
use serde_json::json;

use super::{Bench, output};
use crate::account::Offer;
use crate::forward;
use crate::samples::private;
use crate::settings::Settings;

const HERE: &str = "ws://127.0.0.1:3001";
const THERE: &str = "ws://192.168.1.20:3001/event";

impl Bench {
    /// The owner lists these clients.
    fn list(&mut self, addresses: &[&str], token: bool) {
        let values =
            json!({ "forward": addresses, "access_token": token.then_some("[secret plugin.qq.access_token]") });
        self.settings = Settings::from(|key| values.get(key).cloned()).0;
    }

    fn connect_listed(&mut self) {
        let effects = self.qq.connect(&self.settings, false);
        self.take(effects);
    }

    /// The host has made one of the connections.
    fn is_made(&mut self, id: u64, address: &str) {
        self.connect(id, &[("x-client-role", forward::role(address)), (forward::META, address)]);
    }
}

#[test]
fn the_listed_clients_are_connected_to_and_no_others() {
    let mut bench = Bench::new();
    bench.list(&[HERE, THERE, HERE], true);
    bench.connect_listed();
    bench.connect_listed();
    assert_eq!(bench.reached, [(HERE.to_owned(), true), (THERE.to_owned(), true)], "each is asked for once");
    bench.list(&[THERE], false);
    bench.connect_listed();
    assert_eq!((bench.left.as_slice(), bench.reached.len()), ([HERE.to_owned()].as_slice(), 2));
    let effects = bench.qq.connect_again(&bench.settings);
    bench.take(effects);
    assert_eq!((bench.left.len(), bench.reached.last()), (2, Some(&(THERE.to_owned(), false))), "with another token");
}

#[test]
fn addresses_that_are_none_are_said_and_not_tried() {
    let values = json!({ "forward": ["127.0.0.1:3001", "http://x", "ws://", "ws://localhost:3001/", HERE] });
    let (settings, wrong) = Settings::from(|key| values.get(key).cloned());
    assert_eq!((settings.forward, wrong.len()), (vec![HERE.to_owned()], 4));
    assert!(wrong[3].contains("write 127.0.0.1 for localhost"), "{wrong:?}");
}

#[test]
fn whose_client_it_is_is_asked_where_it_does_not_say() {
    let mut bench = Bench::new();
    bench.is_made(7, HERE);
    let (asked_at, request) = bench.requests.remove(0);
    assert_eq!((asked_at, &request["action"]), (7, &json!("get_login_info")));
    let answer =
        json!({"status": "ok", "retcode": 0, "data": {"user_id": 5, "nickname": "我"}, "echo": request["echo"]});
    bench.hear_text(7, &answer.to_string());
    let mut frame = private(1, &json!("在吗"));
    frame["self_id"] = json!(5);
    bench.hear_text(7, &frame.to_string());
    bench.send(&output(Peer::Person("20002000".to_owned()), "在"));
    assert_eq!((bench.heard(), bench.requests[0].0), (vec!["在吗"], 7));
}

#[test]
fn a_client_that_says_whose_it_is_before_it_answers_is_believed() {
    let mut bench = Bench::new();
    bench.is_made(7, HERE);
    let echo = bench.requests.remove(0).1["echo"].take();
    bench.hear_text(7, r#"{"post_type":"meta_event","meta_event_type":"lifecycle","self_id":5}"#);
    let answer = json!({"status": "ok", "retcode": 0, "data": {"user_id": 6}, "echo": echo});
    bench.hear_text(7, &answer.to_string());
    assert_eq!(bench.qq.accounts.of(7).as_deref(), Some("5"));
}

#[test]
fn a_client_that_falls_silent_is_connected_to_again_and_one_that_was_replaced_is_not() {
    let mut bench = Bench::new();
    bench.list(&[HERE], false);
    bench.is_made(7, HERE);
    bench.hear_text(7, r#"{"post_type":"meta_event","meta_event_type":"heartbeat","self_id":5,"interval":5000}"#);
    for _ in 0..5 {
        bench.pass(5_000);
    }
    assert_eq!((bench.closed.as_slice(), bench.reached.len()), ([7].as_slice(), 0));
    bench.disconnect(7);
    assert_eq!(bench.reached, [(HERE.to_owned(), false)]);
    bench.is_made(8, HERE);
    bench.hear_text(8, r#"{"post_type":"meta_event","meta_event_type":"lifecycle","self_id":5}"#);
    bench.connect(9, &[("x-self-id", "5")]);
    bench.disconnect(8);
    assert_eq!((bench.closed.as_slice(), bench.reached.len()), ([7, 8].as_slice(), 1), "or both would go on for ever");
    bench.disconnect(9);
    assert_eq!(bench.reached.len(), 2, "nothing is left of the account but its address");
}

#[test]
fn a_connection_that_was_ended_here_is_made_again_while_it_is_listed() {
    let mut bench = Bench::new();
    bench.list(&[HERE], false);
    bench.is_made(7, HERE);
    bench.hear_text(7, r#"{"post_type":"meta_event","meta_event_type":"lifecycle","self_id":5}"#);
    bench.disconnect(7);
    assert_eq!(bench.reached, [(HERE.to_owned(), false)]);
    bench.is_made(8, HERE);
    bench.list(&[], false);
    bench.disconnect(8);
    assert_eq!(bench.reached.len(), 1, "it is listed no more");
}

#[test]
fn tools_are_offered_while_an_account_is_connected() {
    let mut qq = crate::state::Qq::new("t".to_owned());
    assert_eq!(qq.accounts.offer(), Offer::Nothing);
    let mut bench = Bench::new();
    assert_eq!(bench.qq.accounts.offer(), Offer::All);
    let state = bench.qq.save();
    bench.disconnect(1);
    assert_eq!(bench.qq.accounts.offer(), Offer::Accounts, "that tells what is wrong");
    let offered = |offer| crate::actions::offered(offer).into_iter().map(|tool| tool.name).collect::<Vec<_>>();
    assert_eq!((offered(Offer::Nothing).len(), offered(Offer::Accounts)), (0, vec!["qq_accounts".to_owned()]));
    assert!(offered(Offer::All).len() > 20);
    qq.load(&state).expect("it takes over");
}

#[test]
fn what_was_asked_for_is_known_after_a_swap() {
    let mut bench = Bench::new();
    bench.list(&[HERE, THERE], false);
    bench.connect_listed();
    let state = bench.qq.save();
    let mut next = Bench::new();
    next.qq.load(&state).expect("it takes over");
    next.list(&[THERE], false);
    next.connect_listed();
    assert_eq!((next.left.as_slice(), next.reached.len()), ([HERE.to_owned()].as_slice(), 0));
}
