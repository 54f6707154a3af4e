//! What is on its way to QQ: lanes in which one request follows another.
//!
//! Each conversation is a lane. The next message of a lane goes out when the client has confirmed the one before, so
//! messages arrive in order and no faster than QQ takes them.

use std::collections::{BTreeMap, VecDeque};

use homeagent_sdk::Error;
use serde_json::{Value, json};

use crate::failure::Failure;

/// Parcels that wait in one lane.
const MOST_WAITING: usize = 64;

/// One request to a client.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Call {
    pub(crate) action: String,
    pub(crate) params: Value,
    /// What is done instead where the client certainly did not do it.
    pub(crate) otherwise: Vec<Call>,
}

/// Requests that belong together.
#[derive(Debug)]
struct Parcel {
    ticket: u64,
    account: String,
    calls: VecDeque<Call>,
    done: usize,
    /// What the client calls the messages that were sent.
    ids: Vec<String>,
    data: Value,
    /// After this nobody waits any more, and nothing further is sent; in milliseconds.
    deadline: u64,
}

/// All lanes.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    lanes: BTreeMap<String, Lane>,
    tickets: u64,
}

#[derive(Debug, Default)]
struct Lane {
    parcels: VecDeque<Parcel>,
    /// The first parcel's first request has been sent and not yet answered.
    waits: bool,
}

/// What a lane has to do next.
#[derive(Debug, PartialEq)]
pub(crate) enum Step {
    /// Ask this of the account's client.
    Ask { ticket: u64, account: String, call: Call, time: u64 },
    /// A parcel has come to its end.
    Done { ticket: u64, account: String, outcome: Result<Value, Failure> },
    /// Nothing.
    Rest,
}

impl Call {
    /// A request without an alternative.
    pub(crate) fn new(action: &str, params: Value) -> Self {
        Self { action: action.to_owned(), params, otherwise: Vec::new() }
    }

    /// With this in its place, where the client certainly did not do it.
    pub(crate) fn or(mut self, otherwise: Vec<Call>) -> Self {
        self.otherwise = otherwise;
        self
    }
}

impl Outbox {
    /// A number for a request that shares its lane with nobody.
    pub(crate) fn ticket(&mut self) -> u64 {
        self.tickets += 1;
        self.tickets
    }

    /// Puts requests into a lane; the ticket is what their outcome is told under.
    pub(crate) fn post(&mut self, lane: &str, account: &str, calls: Vec<Call>, deadline: u64) -> Result<u64, Error> {
        if self.lanes.get(lane).is_some_and(|lane| lane.parcels.len() >= MOST_WAITING) {
            return Err(Error::Busy);
        }
        let ticket = self.ticket();
        let (account, calls) = (account.to_owned(), calls.into());
        let parcel = Parcel { ticket, account, calls, done: 0, ids: Vec::new(), data: Value::Null, deadline };
        self.lanes.entry(lane.to_owned()).or_default().parcels.push_back(parcel);
        Ok(ticket)
    }

    /// What a lane has to do now. To be asked again until it rests.
    pub(crate) fn step(&mut self, name: &str, now: u64) -> Step {
        let Some(lane) = self.lanes.get_mut(name) else { return Step::Rest };
        if lane.waits {
            return Step::Rest;
        }
        let Some(parcel) = lane.parcels.front() else {
            self.lanes.remove(name);
            return Step::Rest;
        };
        let time = parcel.deadline.saturating_sub(now);
        match parcel.calls.front() {
            Some(call) if time == 0 => {
                let failure = Failure::NotConnected {
                    words: format!(
                        "`{}` was not begun in time: what was to be sent before it took too long",
                        call.action
                    ),
                };
                self.end(name, Err(failure))
            }
            Some(call) => {
                lane.waits = true;
                Step::Ask { ticket: parcel.ticket, account: parcel.account.clone(), call: call.clone(), time }
            }
            None => {
                let outcome = json!({ "message_ids": parcel.ids, "data": parcel.data });
                self.end(name, Ok(outcome))
            }
        }
    }

    /// Takes in what became of the request that a lane waited for.
    pub(crate) fn answered(&mut self, name: &str, outcome: Result<Value, Failure>) -> Step {
        let Some(lane) = self.lanes.get_mut(name) else { return Step::Rest };
        lane.waits = false;
        let Some(parcel) = lane.parcels.front_mut() else { return Step::Rest };
        let call = parcel.calls.pop_front();
        match outcome {
            Ok(data) => {
                parcel.done += 1;
                parcel.ids.extend(crate::field::id(&data["message_id"]));
                parcel.data = data;
                Step::Rest
            }
            Err(failure) => match call.map(|call| call.otherwise).filter(|it| failure.is_certain() && !it.is_empty()) {
                Some(otherwise) => {
                    for call in otherwise.into_iter().rev() {
                        parcel.calls.push_front(call);
                    }
                    Step::Rest
                }
                None => self.end(name, Err(failure)),
            },
        }
    }

    /// Takes requests back that have not been begun: how many they were. Nothing, where they have been, or are done.
    pub(crate) fn withdraw(&mut self, ticket: u64) -> Option<usize> {
        let is_it = |parcel: &Parcel| parcel.ticket == ticket;
        let lane = self.lanes.values_mut().find(|lane| lane.parcels.iter().any(is_it))?;
        let at = lane.parcels.iter().position(is_it).filter(|at| *at > 0 || !lane.waits)?;
        let parcel = lane.parcels.remove(at)?;
        self.lanes.retain(|_, lane| !lane.parcels.is_empty());
        Some(parcel.calls.len())
    }

    /// Ends the first parcel of a lane.
    fn end(&mut self, name: &str, outcome: Result<Value, Failure>) -> Step {
        let lane = self.lanes.get_mut(name);
        let Some(parcel) = lane.and_then(|lane| lane.parcels.pop_front()) else { return Step::Rest };
        let outcome = outcome.map_err(|failure| failure.within(parcel.done, parcel.calls.len()));
        Step::Done { ticket: parcel.ticket, account: parcel.account, outcome }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Refusal;

    fn calls(count: usize) -> Vec<Call> {
        (0..count).map(|number| Call::new("send", json!({ "n": number }))).collect()
    }

    fn asked(step: &Step) -> &Value {
        match step {
            Step::Ask { call, .. } => &call.params["n"],
            other => panic!("a request, not {other:?}"),
        }
    }

    fn refused() -> Failure {
        let refusal = Refusal { retcode: 1404, words: String::new() };
        Failure::Refused { action: "send".to_owned(), refusal }
    }

    #[test]
    fn a_lane_sends_one_thing_at_a_time_and_in_order() {
        let mut outbox = Outbox::default();
        let first = outbox.post("a", "1", calls(2), 100).expect("room");
        let second = outbox.post("a", "1", calls(1), 100).expect("room");
        assert_eq!(asked(&outbox.step("a", 0)), 0);
        assert_eq!(outbox.step("a", 0), Step::Rest, "it waits for the answer");
        assert_eq!(outbox.answered("a", Ok(json!({"message_id": 5}))), Step::Rest);
        assert_eq!(asked(&outbox.step("a", 0)), 1);
        outbox.answered("a", Ok(json!({"message_id": "6"})));
        let outcome = Ok(json!({"message_ids": ["5", "6"], "data": {"message_id": "6"}}));
        assert_eq!(outbox.step("a", 0), Step::Done { ticket: first, account: "1".to_owned(), outcome });
        assert_eq!(asked(&outbox.step("a", 0)), 0);
        let end = outbox.answered("a", Err(refused()));
        assert_eq!(end, Step::Done { ticket: second, account: "1".to_owned(), outcome: Err(refused()) });
        assert_eq!(outbox.step("a", 0), Step::Rest);
        assert!(outbox.lanes.is_empty());
    }

    #[test]
    fn how_much_was_sent_is_said() {
        let mut outbox = Outbox::default();
        outbox.post("a", "1", calls(3), 100).expect("room");
        outbox.step("a", 0);
        outbox.answered("a", Ok(Value::Null));
        outbox.step("a", 0);
        let Step::Done { outcome: Err(failure), .. } = outbox.answered("a", Err(refused())) else { panic!("an end") };
        assert!(failure.message().starts_with("1 of 3 messages were sent"), "{}", failure.message());
        assert_eq!(outbox.step("a", 0), Step::Rest, "the rest is not sent");
    }

    #[test]
    fn the_alternative_is_taken_only_where_nothing_was_done() {
        let post = |outbox: &mut Outbox| {
            outbox.post("a", "1", vec![Call::new("forward", json!({})).or(calls(2))], 100).expect("room");
            outbox.step("a", 0);
        };
        let mut outbox = Outbox::default();
        post(&mut outbox);
        assert_eq!(outbox.answered("a", Err(refused())), Step::Rest);
        assert_eq!(asked(&outbox.step("a", 0)), 0);
        let mut outbox = Outbox::default();
        post(&mut outbox);
        let lost = Failure::Lost { action: "forward".to_owned() };
        assert!(matches!(outbox.answered("a", Err(lost)), Step::Done { .. }));
    }

    #[test]
    fn what_comes_too_late_is_not_begun() {
        let mut outbox = Outbox::default();
        outbox.post("a", "1", calls(1), 100).expect("room");
        assert!(matches!(outbox.step("a", 100), Step::Done { outcome: Err(Failure::NotConnected { .. }), .. }));
    }

    #[test]
    fn what_has_not_been_begun_can_be_taken_back() {
        let mut outbox = Outbox::default();
        let first = outbox.post("a", "1", calls(1), 100).expect("room");
        let second = outbox.post("a", "1", calls(2), 100).expect("room");
        outbox.step("a", 0);
        assert_eq!((outbox.withdraw(first), outbox.withdraw(second), outbox.withdraw(second)), (None, Some(2), None));
        outbox.answered("a", Ok(Value::Null));
        assert!(matches!(outbox.step("a", 0), Step::Done { .. }));
        assert_eq!(outbox.step("a", 0), Step::Rest);
        let third = outbox.post("a", "1", calls(1), 100).expect("room");
        assert_eq!(outbox.withdraw(third), Some(1));
        assert!(outbox.lanes.is_empty());
    }

    #[test]
    fn a_lane_holds_so_much() {
        let mut outbox = Outbox::default();
        for _ in 0..MOST_WAITING {
            outbox.post("a", "1", calls(1), 100).expect("room");
        }
        assert_eq!(outbox.post("a", "1", calls(1), 100), Err(Error::Busy));
        assert!(outbox.post("b", "1", calls(1), 100).is_ok());
    }
}
