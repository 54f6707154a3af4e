//! Adapters that are scripts: what an interpreter exports beside the plugin that each of its scripts can be.
//!
//! A script names its adapter's functions; [`ScriptedAdapter`] calls them with what the contract says, as JSON, and reads
//! what they return (`docs/adapters.md` has the forms). An interpreter exports it with
//! [`export_script_adapter!`](crate::export_script_adapter) and asks [`now`] and [`wait`] in the place of the SDK's
//! functions of the same names: an adapter computes and can ask the host for nothing, and has some functions of its own.

use std::marker::PhantomData;

use homeagent_sdk::adapter::{
    Adapter, Delta, Descriptor, EmbeddingRequest, Embeddings, Failure, FailureClass, HttpRequest, HttpResponse, Meta,
    ModelInfo, ModelRequest, StreamEvent,
};
use homeagent_sdk::script::{self, Interpreter};
use homeagent_sdk::{Error, State};
use serde_json::{Map, Value};

use crate::errors;
use crate::reader::Answer;

mod deltas;
mod functions;
mod reading;
mod records;
mod requests;

pub use functions::{now, wait};
pub use reading::ScriptReader;

/// The adapter that an interpreter is with the script it was given.
pub struct ScriptedAdapter<I>(PhantomData<I>);

/// One instance serves one model call, so there is one answer to read.
static ANSWER: State<Answer> = State::new(Answer::default);

/// What a function of the script returned; nothing, where the script has no such function.
fn called<I: Interpreter>(script: &I, function: &'static str, argument: Value) -> Result<Option<Value>, Error> {
    let call = Map::from_iter([("function".to_owned(), function.into()), ("argument".to_owned(), argument)]);
    let mut answer = script::call_at_once(script, "adapter", call.into())?;
    if answer.get("missing").is_some() {
        return Ok(None);
    }
    Ok(Some(answer.get_mut("returned").map(Value::take).unwrap_or_default()))
}

/// The script, which can reach nothing from here on.
fn loaded<I: Interpreter>() -> Result<std::rc::Rc<I>, Error> {
    functions::confine();
    script::loaded()
}

/// What a function of the script returned, which it has to have.
fn needed<I: Interpreter>(function: &'static str, argument: Value) -> Result<Value, Error> {
    called(&*loaded::<I>()?, function, argument)?.ok_or_else(|| Error::other(format!("the script has no `{function}`")))
}

fn failure(error: &Error) -> Failure {
    Failure::new(FailureClass::Protocol, error.message())
}

/// What an answer says by itself, where the script that was to read it has a fault: the fault hides nothing of it.
fn beside(mut said: Failure, fault: &Error) -> Failure {
    said.message = format!("{}; and the script's transform_error failed: {}", said.message, fault.message());
    said
}

impl<I: Interpreter> Adapter for ScriptedAdapter<I> {
    fn describe() -> Descriptor {
        let described = loaded::<I>().and_then(|script| {
            let told = script::call_at_once(&*script, "adapter-describe", Value::Null)?;
            records::descriptor(&script::read(), told)
        });
        described.unwrap_or_else(|error| {
            // There is no other way to say it: the host reports what stood on the standard error when a call traps.
            eprintln!("{}", error.message());
            std::process::abort()
        })
    }

    fn build_request(request: ModelRequest) -> Result<HttpRequest, String> {
        let told = requests::to_json(&request)?;
        let returned = needed::<I>("transform_request", told).map_err(|error| error.message())?;
        records::http_request("transform_request", returned).map_err(|error| error.message())
    }

    fn parse_response(response: HttpResponse) -> Vec<Delta> {
        reading::at_once(loaded::<I>(), |script| ANSWER.with(|answer| reading::whole(script, answer, &response)))
    }

    fn classify_error(response: HttpResponse) -> Failure {
        let told = records::response(&response);
        let returned = loaded::<I>().and_then(|script| called(&*script, "transform_error", told));
        let told = match returned.map(|value| value.filter(|value| !errors::is_nothing(value))) {
            Ok(None) => return errors::of_response(&response),
            Ok(Some(value)) => deltas::failure("transform_error", value, Some(response.status)),
            Err(error) => Err(error),
        };
        told.unwrap_or_else(|error| beside(errors::of_response(&response), &error))
    }

    fn step(events: Vec<StreamEvent>) -> Vec<Delta> {
        reading::at_once(loaded::<I>(), |script| ANSWER.with(|answer| reading::step(script, answer, &events)))
    }

    fn end() -> Vec<Delta> {
        reading::at_once(loaded::<I>(), |script| ANSWER.with(|answer| reading::end(script, answer)))
    }

    fn build_models_request(options: Meta) -> Result<HttpRequest, String> {
        let options: Value = options.into_iter().map(|(name, value)| (name, Value::from(value))).collect();
        let returned = needed::<I>("transform_models_request", options).map_err(|error| error.message())?;
        records::http_request("transform_models_request", returned).map_err(|error| error.message())
    }

    fn parse_models(response: HttpResponse) -> Result<Vec<ModelInfo>, Failure> {
        let returned = needed::<I>("transform_models", records::response(&response));
        returned.and_then(records::models).map_err(|error| failure(&error))
    }

    fn build_embedding_request(request: EmbeddingRequest) -> Result<HttpRequest, String> {
        let told = records::embedding_request(&request);
        let returned = needed::<I>("transform_embedding_request", told).map_err(|error| error.message())?;
        records::http_request("transform_embedding_request", returned).map_err(|error| error.message())
    }

    fn parse_embeddings(response: HttpResponse) -> Result<Embeddings, Failure> {
        let returned = needed::<I>("transform_embeddings", records::response(&response));
        returned.and_then(records::embeddings).map_err(|error| failure(&error))
    }
}

/// Makes a language the adapter that each of its scripts can be, beside the plugin that
/// [`export_interpreter!`](homeagent_sdk::export_interpreter) makes it.
#[macro_export]
macro_rules! export_script_adapter {
    ($interpreter:ident) => {
        type ScriptedAdapter = $crate::script::ScriptedAdapter<$interpreter>;
        ::homeagent_sdk::export_adapter!(ScriptedAdapter);
    };
}
