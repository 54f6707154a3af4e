//! Runs plugins and adapters that are JavaScript files.
//!
//! A handler may be an `async` function. Each call of the script ends when its promise is settled and all that it asked
//! the host for has been answered; other calls go on meanwhile.

mod modules;

use std::cell::{Cell, RefCell};
use std::pin::Pin;
use std::rc::Rc;
use std::task::Poll;

use homeagent_sdk::Error;
use homeagent_sdk::script::{self, Interpreter, Program};
use rquickjs::{CatchResultExt as _, CaughtError, Context, Ctx, Function, Module, Object, Persistent, Runtime};
use serde_json::{Value, json};

use crate::modules::Files;

/// The module `homeagent`.
const MODULE: &str = include_str!("homeagent.js");
/// The stack that a script may use, in bytes; beyond, it has an error like any other.
const STACK: usize = 192 << 10;

/// A JavaScript context with a script in it.
pub struct JavaScript {
    // Dropped in this order: the object goes back to the context.
    /// The module's functions for this side.
    side: Persistent<Object<'static>>,
    context: Context,
    last_call: Cell<u32>,
    /// What the code that ran last asked the host for.
    requests: Rc<RefCell<Vec<Request>>>,
}

struct Request {
    id: u32,
    function: String,
    argument: String,
}

type Answered = Pin<Box<dyn Future<Output = (u32, Result<Value, Error>)>>>;

impl Interpreter for JavaScript {
    fn load(program: &Program) -> Result<Self, String> {
        let engine = |error: rquickjs::Error| format!("the JavaScript engine: {error}");
        let runtime = Runtime::new().map_err(engine)?;
        runtime.set_max_stack_size(STACK);
        let files = Files::new(program);
        runtime.set_loader(files.clone(), files);
        let context = Context::full(&runtime).map_err(engine)?;
        let requests = Rc::<RefCell<Vec<Request>>>::default();
        let side = context.with(|ctx| prepare(&ctx, program, &requests))?;
        if !requests.borrow().is_empty() {
            return Err("what waits for the host can't be called while the script is loaded".to_owned());
        }
        Ok(Self { side, context, last_call: Cell::new(0), requests })
    }

    async fn call(&self, what: &'static str, argument: Value) -> Result<Value, Error> {
        let call = self.last_call.get().wrapping_add(1);
        self.last_call.set(call);
        self.run("serve", (call, what, argument.to_string()))?;
        let mut outcome = None;
        let mut waiting: Vec<Answered> = Vec::new();
        loop {
            waiting.extend(self.requests.take().into_iter().map(answered));
            if outcome.is_none() {
                outcome = self.outcome(call)?;
            }
            if waiting.is_empty() {
                return outcome.unwrap_or_else(|| {
                    Err(Error::other(format!("{what} waits for something that no answer of the host to it will bring")))
                });
            }
            let (request, answer) = first(&mut waiting).await;
            self.run("answer", (request, envelope(answer)))?;
        }
    }
}

impl JavaScript {
    /// Calls a function of the module, and then whatever waits to go on.
    fn run<A: for<'js> rquickjs::function::IntoArgs<'js>>(&self, function: &str, arguments: A) -> Result<(), Error> {
        self.context.with(|ctx| {
            let called = self.function(&ctx, function).and_then(|function| function.call::<_, ()>(arguments));
            called.catch(&ctx).map_err(|error| Error::other(error.to_string()))?;
            while ctx.execute_pending_job() {}
            Ok(())
        })
    }

    /// What a call came to, when it is settled.
    fn outcome(&self, call: u32) -> Result<Option<Result<Value, Error>>, Error> {
        let outcome = self.context.with(|ctx| {
            let outcome = self.function(&ctx, "outcome").and_then(|it| it.call::<_, Option<String>>((call,)));
            outcome.catch(&ctx).map_err(|error| Error::other(error.to_string()))
        })?;
        let Some(outcome) = outcome else { return Ok(None) };
        let outcome: Value = serde_json::from_str(&outcome)?;
        Ok(Some(match (outcome["kind"].as_str(), outcome["message"].as_str()) {
            (Some(kind), Some(message)) => Err(script::raised(kind, message.to_owned())),
            _ => Ok(outcome["ok"].clone()),
        }))
    }

    fn function<'js>(&self, ctx: &Ctx<'js>, name: &str) -> rquickjs::Result<Function<'js>> {
        self.side.clone().restore(ctx)?.get(name)
    }
}

/// Makes the host's functions known, and runs the script.
fn prepare<'js>(
    ctx: &Ctx<'js>,
    program: &Program,
    requests: &Rc<RefCell<Vec<Request>>>,
) -> Result<Persistent<Object<'static>>, String> {
    let engine = |error: CaughtError<'js>| format!("the module homeagent: {error}");
    let asked = Rc::clone(requests);
    let wait = move |id: u32, function: String, argument: String| {
        asked.borrow_mut().push(Request { id, function, argument });
    };
    let side = (|| {
        let globals = ctx.globals();
        globals.set(
            "__now",
            Function::new(ctx.clone(), |function: String, argument: String| now(&function, &argument))?,
        )?;
        globals.set("__wait", Function::new(ctx.clone(), wait)?)?;
        Module::evaluate(ctx.clone(), "homeagent", MODULE)?.finish::<()>()?;
        let side: Object<'js> = globals.get("__side")?;
        globals.remove("__side")?;
        Ok(side)
    })();
    let side: Object<'js> = side.catch(ctx).map_err(engine)?;
    if let Some(main) = program.files.first() {
        let run = Module::evaluate(ctx.clone(), main.name.as_str(), main.text.as_str());
        let run = run.and_then(|promise| promise.finish::<()>());
        if matches!(run, Err(rquickjs::Error::WouldBlock)) {
            return Err(format!("{}: what waits for the host can't be awaited while the script is loaded", main.name));
        }
        run.catch(ctx).map_err(|error| described(&side, error))?;
    }
    Ok(Persistent::save(ctx, side))
}

/// What was thrown, with its file and line.
fn described<'js>(side: &Object<'js>, error: CaughtError<'js>) -> String {
    let thrown = match error {
        CaughtError::Exception(exception) => exception.into_value(),
        CaughtError::Value(value) => value,
        CaughtError::Error(error) => return error.to_string(),
    };
    let told = side.get::<_, Function<'js>>("raised").and_then(|raised| raised.call::<_, String>((thrown,)));
    told.unwrap_or_else(|error| error.to_string())
}

fn now(function: &str, argument: &str) -> String {
    let argument = serde_json::from_str(argument).map_err(Error::from);
    envelope(argument.and_then(|argument| homeagent_adapters::script::now(function, argument)))
}

/// An answer of the host as the module opens it.
fn envelope(answer: Result<Value, Error>) -> String {
    answer.map_or_else(|error| script::error_as_json(&error), |value| json!({ "ok": value })).to_string()
}

fn answered(request: Request) -> Answered {
    Box::pin(async move {
        let answer = match serde_json::from_str(&request.argument) {
            Ok(argument) => homeagent_adapters::script::wait(&request.function, argument).await,
            Err(error) => Err(error.into()),
        };
        (request.id, answer)
    })
}

/// The first answer that comes; it is taken out.
async fn first(waiting: &mut Vec<Answered>) -> (u32, Result<Value, Error>) {
    std::future::poll_fn(|cx| {
        for at in 0..waiting.len() {
            if let Poll::Ready(answer) = waiting[at].as_mut().poll(cx) {
                drop(waiting.swap_remove(at));
                return Poll::Ready(answer);
            }
        }
        Poll::Pending
    })
    .await
}

homeagent_sdk::export_interpreter!(JavaScript);
homeagent_adapters::export_script_adapter!(JavaScript);

#[cfg(test)]
mod tests {
    use homeagent_sdk::script::File;
    use homeagent_sdk::testing;

    use super::*;

    fn script(files: &[(&str, &str)]) -> Result<JavaScript, String> {
        let files = files.iter().map(|(name, text)| File { name: (*name).into(), text: (*text).into() });
        JavaScript::load(&Program { plugin: "x".into(), version: "1".into(), files: files.collect() })
    }

    fn tool(body: &str) -> JavaScript {
        let text = format!(
            "import {{ tool, HostError, setting }} from 'homeagent';\n\
             tool({{ name: 't', description: 'd', async call(args, cause) {{\n{body}\n}} }});\n"
        );
        script(&[("main.js", &text)]).expect("the script is good")
    }

    fn call(script: &JavaScript, arguments: &Value) -> Result<Value, Error> {
        testing::run(script.call("tool", json!({ "name": "t", "arguments": arguments, "cause": {} })))
    }

    #[test]
    fn values_come_back_as_they_went() {
        let values = json!({ "int": 5, "float": 0.5, "text": "ä\u{0}", "list": [1, [2], "3"], "none": null });
        assert_eq!(call(&tool("return await args;"), &values), Ok(json!({ "value": values })));
    }

    #[test]
    fn the_kind_of_an_error_is_kept_and_others_say_where_they_are() {
        let script = tool("throw new HostError('invalid', 'no such room');");
        assert_eq!(call(&script, &json!({})), Err(Error::invalid("no such room")));
        let error = call(&tool("const x = null;\nreturn x.y;"), &json!({})).expect_err("an error").message();
        assert!(error.starts_with("main.js:4: TypeError:"), "{error}");
    }

    #[test]
    fn a_script_that_is_wrong_is_told_where() {
        let parts = [("main.js", "import './part.js';\n"), ("part.js", "let x = 1;\nlet y = = 2;\n")];
        let error = script(&parts).err().expect("it is wrong");
        assert!(error.starts_with("part.js:2:"), "{error}");
        let error = script(&[("main.js", "\nthrow new Error('no');\n")]).err().expect("it throws");
        assert!(error.starts_with("main.js:2: Error: no"), "{error}");
        let error = script(&[("main.js", "import './nothing.js';\n")]).err().expect("it is not there");
        assert!(error.contains("nothing.js"), "{error}");
    }

    #[test]
    fn an_adapter_says_which_functions_it_has_and_answers_for_them() {
        let text = "import { adapter, HostError } from 'homeagent';\nadapter({ key: 'bearer',\n\
                    transform_request: async ({ model }) => ({ path: `/${model}` }),\n\
                    transform_response() { throw new HostError('other', 'no tea'); } });";
        let script = script(&[("main.js", text)]).expect("the script is good");
        let told = testing::run(script.call("adapter-describe", Value::Null)).expect("it describes itself");
        assert_eq!(told["functions"], json!(["transform_request", "transform_response"]));
        let call = |function: &str| {
            let argument = json!({ "function": function, "argument": { "model": "m" } });
            testing::run(script.call("adapter", argument))
        };
        assert_eq!(call("transform_request"), Ok(json!({ "returned": { "path": "/m" } })));
        assert_eq!(call("transform_error"), Ok(json!({ "missing": true })));
        assert_eq!(call("transform_response").expect_err("it raises").message(), "main.js:4: no tea");
    }

    #[test]
    fn what_can_never_be_settled_ends_the_call() {
        let error = call(&tool("await new Promise(() => {});"), &json!({})).expect_err("it never ends").message();
        assert!(error.contains("waits for something"), "{error}");
    }

    #[test]
    fn too_deep_a_recursion_is_an_error_of_the_script() {
        let script = tool("const f = (n) => 1 + f(n + 1);\nreturn f(0);");
        let error = call(&script, &json!({})).expect_err("it is too deep").message();
        assert!(error.contains("stack"), "{error}");
        assert!(call(&tool("return 1;"), &json!({})).is_ok());
    }
}
