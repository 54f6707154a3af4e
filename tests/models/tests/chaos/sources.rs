//! The chain of sources by itself: one request to one vendor with a fault, alone and with a healthy one behind it.

use std::time::Duration;

use homeagent_providers::SourceStanding;
use homeagent_test_vendors::{Fault, Format, Vendor};
use homeagent_types::model::{Completion, Message, Prompt, ToolSpec};
use homeagent_types::ports::ModelsFailure;
use serde_json::json;

use crate::matrix::{Gets, expected};
use crate::{Outcome, Place, add, home, other, plain, play};

/// Longer than anything a source may take by itself here.
const PATIENCE: Duration = Duration::from_secs(60);

fn prompt(fault: Fault) -> Prompt {
    let look = ToolSpec {
        name: "look".to_owned(),
        description: "Looks.".to_owned(),
        parameters: json!({"type": "object", "properties": {"n": {"type": "integer"}}}),
    };
    // Only a call can be broken.
    let tools = if fault == Fault::BrokenCall { vec![look] } else { Vec::new() };
    Prompt {
        messages: vec![Message::System("Be kind.".to_owned()), Message::user("Hello?")],
        tools,
        ..Prompt::default()
    }
}

async fn run(fault: Fault, format: Format, place: Place) -> Outcome {
    let home = home(fault, place);
    let sick = Vendor::start(format, "sick").await;
    let well = Vendor::start(other(format), "well").await;
    if place == Place::Once {
        sick.then([Some(fault)]);
    } else {
        sick.always(fault);
    }
    add(&home, "sick", format, &sick);
    if place == Place::First {
        add(&home, "well", other(format), &well);
    }
    let prompt = prompt(fault);
    let (gets, standing) = match place {
        Place::Once => (Gets::Answer, SourceStanding::Ready),
        Place::Alone | Place::First => expected(format, fault),
    };
    // What never ends is looked at for a moment.
    let patience = if gets == Gets::Ended { Duration::from_secs(3) } else { PATIENCE };
    let asked = tokio::time::timeout(patience, home.ask(&prompt)).await;
    home.keeps_its_key(&format!("{asked:?}"));
    let state = home.state("sick");
    let shown = home.watcher.text();
    let mut wrong = Vec::new();
    let mut claim = |holds: bool, what: String| {
        if !holds {
            wrong.push(what);
        }
    };
    for vendor in [&sick, &well] {
        claim(vendor.refused().is_empty(), format!("a vendor refuses the request: {:?}", vendor.refused()));
    }
    claim(state.standing == standing, format!("the source is {:?}, not {standing:?}", state.standing));
    let line = match asked {
        Err(_) => {
            claim(gets == Gets::Ended, "it does not end".to_owned());
            "does not end".to_owned()
        }
        Ok(Ok(completion)) => {
            let Completion { source, answer, .. } = &completion;
            let by_other = place == Place::First && matches!(gets, Gets::Sentence | Gets::Nothing);
            claim(gets != Gets::Ended, "it ended".to_owned());
            claim(place == Place::First || gets != Gets::Sentence, format!("it was answered: {answer:?}"));
            claim(source == if by_other { "well" } else { "sick" }, format!("`{source}` answered"));
            claim(shown == answer.text, format!("{shown:?} was shown instead of {:?}", answer.text));
            let proper = format!("This is {source}: 我看到 nothing.");
            if by_other || gets == Gets::Answer {
                let calls_only = fault == Fault::BrokenCall && answer.tool_calls.len() == 1;
                claim(answer.text == proper || calls_only, format!("the answer is {answer:?}"));
                claim(answer.usage.is_some_and(|usage| usage.input == 21), format!("usage: {:?}", answer.usage));
            }
            format!("`{source}`: {} {:?}", answer.text, answer.finish)
        }
        Ok(Err(ModelsFailure { sentence, .. })) => {
            claim(place == Place::Alone && gets == Gets::Sentence, format!("no answer: {sentence}"));
            claim(
                sentence.matches("`sick`").count() == 1,
                format!("it is not one sentence of this source: {sentence}"),
            );
            plain(&sentence, &sick)
        }
    };
    Outcome { line, wrong }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_fault_of_every_format_is_answered_by_another_source_or_by_one_sentence() {
    insta::assert_snapshot!("what_people_read", play(run).await);
}
