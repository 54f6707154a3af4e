//! A hostile plugin and its neighbours.

use std::pin::pin;

use homeagent_types::CallError;
use homeagent_types::ports::{Haste, PluginAdmin};
use homeagent_types::stage::{Stage, StageContext, StageData};
use homeagent_types::{Conversation, Output, OutputDelta, OutputKind, Shown};

use crate::house::{self, House};

/// A house in which `hostile` lives beside `counter`, each with so much processor time.
pub(crate) async fn with_budget(cpu_ms: i64) -> House {
    let house = house::with_shared_cache(Vec::new());
    house.settings.set("core.plugin.cpu_ms", cpu_ms).expect("a valid budget");
    for guest in ["counter-one", "hostile"] {
        house.install(guest, guest);
    }
    house.runtime.load_all().await;
    house.grant_all().await;
    house
}

/// The same with as much as anyone has.
pub(crate) async fn usual() -> House {
    with_budget(2_000).await
}

impl House {
    /// From now on the plugin does this, in this export.
    pub(crate) fn order(&self, fault: &str) {
        self.settings.set("plugin.hostile.fault", fault).expect("it is declared");
    }

    /// The tool that does harm.
    pub(crate) async fn harm(&self, fault: &str) -> Result<String, CallError> {
        self.call("hostile", "harm", &serde_json::json!({ "fault": fault }).to_string()).await
    }

    /// Makes a new instance of the plugin, which behaves.
    pub(crate) async fn pacify(&self) {
        self.order("");
        self.runtime.reload("hostile", Haste::default()).await.expect("it behaves");
        assert_eq!(self.call("hostile", "behave", "{}").await, Ok("ok".into()));
    }

    /// Waits until the last error of the plugin says all this.
    pub(crate) async fn blamed(&self, words: &[&str]) {
        house::until(|| {
            let error = self.status("hostile").last_error.unwrap_or_default();
            words.iter().all(|word| error.contains(word))
        })
        .await;
    }
}

/// What comes of the harm, before which the neighbour has answered so many calls.
pub(crate) async fn unnoticed<T: std::fmt::Debug>(house: &House, calls: usize, harm: impl Future<Output = T>) -> T {
    let mut harm = pin!(harm);
    for number in 0..calls {
        tokio::select! {
            biased;
            outcome = &mut harm => panic!("it was over before the neighbour had answered {number} calls: {outcome:?}"),
            answer = house.call("counter", "count", "{}") => drop(answer.expect("the neighbour answers")),
        }
    }
    house::soon(harm).await
}

/// What comes of harm that may be over at once; the neighbour answers beside it.
pub(crate) async fn beside<T>(house: &House, harm: impl Future<Output = T>) -> T {
    let (outcome, answer) = house::soon(async { tokio::join!(harm, house.call("counter", "count", "{}")) }).await;
    answer.expect("the neighbour answers");
    outcome
}

/// Why it failed, in words.
pub(crate) fn reason<T: std::fmt::Debug>(outcome: Result<T, CallError>) -> String {
    outcome.expect_err("harm was done").to_string()
}

pub(crate) fn says(text: &str, words: &[&str]) {
    for word in words {
        assert!(text.contains(word), "{text:?} does not say {word:?}");
    }
}

pub(crate) fn context() -> StageContext {
    let conversation = Conversation::person("hostile", "owner");
    StageContext {
        stage: Stage::BeforeOutput,
        data: StageData::Output { text: "hello".to_owned(), conversation },
        turn_data: Vec::new(),
        cause: house::cause(60_000),
    }
}

pub(crate) fn output() -> Output {
    Output {
        id: "1".to_owned(),
        run: None,
        conversation: Conversation::person("hostile", "owner"),
        reply_route: None,
        kind: OutputKind::Message,
        text: "hello".to_owned(),
        media: Vec::new(),
        structured: None,
        meta: Vec::new(),
    }
}

pub(crate) fn piece() -> OutputDelta {
    OutputDelta {
        run: "run-1".to_owned(),
        conversation: Conversation::person("hostile", "owner"),
        reply_route: None,
        content: Shown::Text("hello".to_owned()),
    }
}
