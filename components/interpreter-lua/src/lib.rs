//! Runs plugins and adapters that are Lua scripts.
//!
//! Each call of the script runs in a coroutine. What waits for the host yields out of it, so that other calls go on
//! meanwhile; the script sees a function that returns.

mod json;

use std::cell::RefCell;

use homeagent_sdk::Error;
use homeagent_sdk::script::{self, Interpreter, Program};
use luars::{LuaAnyRef, LuaApi as _, LuaError, LuaFunctionRef, LuaState, LuaValue, SafeOption, Stdlib};
use serde_json::{Map, Value};

use crate::json::Heap;

/// The module `homeagent`, and what is put in the place of library functions that a plugin can't have.
const MODULE: &str = include_str!("homeagent.lua");
/// Calls that may stand inside each other; deeper, the script has an error like any other.
const DEEPEST_CALLS: usize = 200;

/// A Lua state with a script in it.
pub struct Lua {
    // Dropped in this order: the references go back to the state.
    /// Coroutines that have served a call and can serve another.
    idle: RefCell<Vec<LuaAnyRef>>,
    /// The body of the coroutines that serve calls.
    serve: LuaFunctionRef,
    state: RefCell<luars::Lua>,
}

impl Interpreter for Lua {
    fn load(program: &Program) -> Result<Self, String> {
        let options = SafeOption { max_call_depth: DEEPEST_CALLS, allow_load_bytecode: false, ..SafeOption::default() };
        let mut lua = luars::Lua::new(options);
        match prepare(&mut lua, program) {
            Ok(serve) => Ok(Self { state: RefCell::new(lua), serve, idle: RefCell::default() }),
            Err(error) => Err(lua.get_error_message(error).to_string()),
        }
    }

    async fn call(&self, what: &'static str, argument: Value) -> Result<Value, Error> {
        let coroutine = self.coroutine().map_err(|error| self.told(error))?;
        let mut step = self.start(&coroutine, what, &argument).map_err(|error| self.told(error))?;
        loop {
            match step {
                Step::Returned(outcome) => {
                    self.idle.borrow_mut().push(coroutine);
                    return outcome;
                }
                Step::Waits { function, argument } => {
                    let answer = match argument {
                        Ok(argument) => homeagent_adapters::script::wait(&function, argument).await,
                        Err(reason) => Err(Error::Invalid(reason)),
                    };
                    step = self.go_on(&coroutine, answer).map_err(|error| self.told(error))?;
                }
            }
        }
    }
}

/// Where a coroutine gave way.
enum Step {
    Returned(Result<Value, Error>),
    /// It called what waits, and goes on with the answer.
    Waits {
        function: String,
        argument: Result<Value, String>,
    },
}

impl Lua {
    /// A coroutine for a call, which nobody else uses as long as the call runs.
    fn coroutine(&self) -> Result<LuaAnyRef, LuaError> {
        if let Some(coroutine) = self.idle.borrow_mut().pop() {
            return Ok(coroutine);
        }
        let mut lua = self.state.borrow_mut();
        let global = lua.global_state_mut();
        let coroutine = global.create_thread(self.serve.to_value())?;
        Ok(global.to_ref(coroutine))
    }

    fn start(&self, coroutine: &LuaAnyRef, what: &str, argument: &Value) -> Result<Step, LuaError> {
        let arguments = {
            let mut lua = self.state.borrow_mut();
            let global = lua.global_state_mut();
            vec![global.create_string(what)?, json::to_lua(global, argument)?]
        };
        self.resume(coroutine, arguments)
    }

    fn go_on(&self, coroutine: &LuaAnyRef, answer: Result<Value, Error>) -> Result<Step, LuaError> {
        let arguments = answer_values(self.state.borrow_mut().global_state_mut(), answer)?;
        self.resume(coroutine, arguments)
    }

    fn resume(&self, coroutine: &LuaAnyRef, arguments: Vec<LuaValue>) -> Result<Step, LuaError> {
        let mut lua = self.state.borrow_mut();
        let (_, values) = lua.global_state_mut().resume_thread(coroutine.to_value(), arguments)?;
        let text = |at: usize| values.get(at).and_then(LuaValue::as_str).unwrap_or_default().to_owned();
        let value = |at: usize| values.get(at).map_or(Ok(Value::Null), json::from_lua);
        Ok(match values.first().and_then(LuaValue::as_boolean) {
            Some(true) => Step::Returned(value(1).map_err(Error::Other)),
            Some(false) => Step::Returned(Err(script::raised(&text(1), text(2)))),
            // The module's mark, then the function and its argument.
            None => Step::Waits { function: text(1), argument: value(2) },
        })
    }

    fn told(&self, error: LuaError) -> Error {
        Error::Other(self.state.borrow_mut().get_error_message(error).to_string())
    }
}

/// Opens the libraries, makes the host's functions known, and runs the script.
fn prepare(lua: &mut luars::Lua, program: &Program) -> Result<LuaFunctionRef, LuaError> {
    use Stdlib::{Basic, Coroutine, Math, String, Table, Utf8};
    lua.open_stdlibs(&[Basic, String, Table, Math, Coroutine, Utf8])?;
    let global = lua.global_state_mut();
    global.register_function("__now", now)?;
    global.register_function("__random", |state| {
        state.push_value(LuaValue::integer(random()))?;
        Ok(1)
    })?;
    global.register_function("__time", |state| {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        state.push_value(LuaValue::float(since.as_secs_f64()))?;
        Ok(1)
    })?;
    global.set_global("__null", json::null())?;
    let texts = program.files.iter().map(|file| (file.name.clone(), Value::from(file.text.as_str())));
    let files = json::to_lua(global, &Value::Object(texts.collect::<Map<_, _>>()))?;
    global.set_global("__files", files)?;
    let main = program.files.first().map_or("", |file| file.name.as_str());
    let main = global.create_string(main)?;
    global.set_global("__main", main)?;
    lua.load(MODULE).set_name("=homeagent").exec()?;
    let global = lua.global_state_mut();
    let serve = global.get_global_function("__serve")?;
    global.set_global("__serve", LuaValue::nil())?;
    serve.ok_or_else(|| global.error("the module homeagent has no `__serve`".to_owned()))
}

/// `__now(function, argument)`: true and the answer, or false, the kind of the error and its message.
fn now(state: &mut LuaState) -> Result<usize, LuaError> {
    let function = state.get_arg(1).and_then(|name| name.as_str().map(str::to_owned)).unwrap_or_default();
    let argument = json::from_lua(&state.get_arg(2).unwrap_or_else(LuaValue::nil));
    let answer =
        argument.map_err(Error::Invalid).and_then(|argument| homeagent_adapters::script::now(&function, argument));
    let values = answer_values(state, answer)?;
    let count = values.len();
    for value in values {
        state.push_value(value)?;
    }
    Ok(count)
}

fn answer_values(heap: &mut impl Heap, answer: Result<Value, Error>) -> Result<Vec<LuaValue>, LuaError> {
    match answer {
        Ok(value) => Ok(vec![LuaValue::boolean(true), json::to_lua(heap, &value)?]),
        Err(error) => {
            let error = script::error_as_json(&error);
            let text = |key: &str| error[key].as_str().unwrap_or_default().to_owned();
            let (kind, message) = (heap.string(&text("kind"))?, heap.string(&text("message"))?);
            Ok(vec![LuaValue::boolean(false), kind, message])
        }
    }
}

/// A number nobody can guess; the standard library takes one from the system for its hash maps.
fn random() -> i64 {
    use std::hash::{BuildHasher as _, RandomState};
    i64::from_ne_bytes(RandomState::new().hash_one(0).to_ne_bytes())
}

homeagent_sdk::export_interpreter!(Lua);
homeagent_adapters::export_script_adapter!(Lua);

#[cfg(test)]
mod tests {
    use homeagent_sdk::script::File;
    use homeagent_sdk::testing;
    use serde_json::json;

    use super::*;

    fn script(files: &[(&str, &str)]) -> Result<Lua, String> {
        let files = files.iter().map(|(name, text)| File { name: (*name).into(), text: (*text).into() });
        Lua::load(&Program { plugin: "x".into(), version: "1".into(), files: files.collect() })
    }

    fn tool(body: &str) -> Lua {
        let text = format!(
            "local homeagent = require('homeagent')\n\
             homeagent.tool {{ name = 't', description = 'd', call = function(arguments, cause)\n{body}\nend }}\n"
        );
        script(&[("main.lua", &text)]).expect("the script is good")
    }

    fn call(lua: &Lua, arguments: &Value) -> Result<Value, Error> {
        testing::run(lua.call("tool", json!({ "name": "t", "arguments": arguments, "cause": {} })))
    }

    #[test]
    fn values_come_back_as_they_went() {
        let lua = tool("return arguments");
        let values =
            json!({ "int": 5, "big": i64::MAX, "float": 0.5, "text": "ä\u{0}", "list": [1, [2], "3"], "yes": true });
        assert_eq!(call(&lua, &values), Ok(json!({ "value": values })));
    }

    #[test]
    fn null_in_a_list_keeps_its_place() {
        let lua = tool("arguments.seen = #arguments.enum return arguments");
        let schema = json!({ "enum": ["warm", null, "hot", null], "default": null });
        let expected = json!({ "enum": ["warm", null, "hot", null], "seen": 4 });
        assert_eq!(call(&lua, &schema), Ok(json!({ "value": expected })));
    }

    #[test]
    fn lists_may_be_empty_and_null_may_be_said() {
        let lua = tool("return { a = homeagent.list {}, b = {}, c = homeagent.null }");
        assert_eq!(call(&lua, &json!({})), Ok(json!({ "value": { "a": [], "b": {}, "c": null } })));
    }

    #[test]
    fn what_is_no_json_is_said_to_be_so() {
        for (value, words) in [
            ("{ 1, a = 2 }", "both positions and names"),
            ("{ f = print }", "function (in `f`)"),
            ("(function() local t = {} t.t = t return t end)()", "contain themselves"),
            ("0/0", "not finite"),
        ] {
            let error = call(&tool(&format!("return {value}")), &json!({})).expect_err("it is no JSON").message();
            assert!(error.contains(words), "{error}");
        }
    }

    #[test]
    fn the_kind_of_an_error_is_kept_and_others_say_where_they_are() {
        let lua = tool("homeagent.raise('invalid', 'no such room')");
        assert_eq!(call(&lua, &json!({})), Err(Error::invalid("no such room")));
        let error = call(&tool("local x = nil\nreturn x.y"), &json!({})).expect_err("an error").message();
        assert!(error.starts_with("main.lua:4:"), "{error}");
    }

    #[test]
    fn json_and_base64_go_both_ways_and_tell_what_is_none() {
        let lua = tool(
            "local json, base64 = homeagent.json, homeagent.base64\n\
                        local read = json.read('[1, {\"a\": null, \"b\": [2]}]')\n\
                        return { read, json.write { x = homeagent.list {} }, base64.read(base64.write('tea ☕')) }",
        );
        assert_eq!(call(&lua, &json!({})), Ok(json!({ "value": [[1, { "b": [2] }], "{\"x\":[]}", "tea ☕"] })));
        let error = call(&tool("return homeagent.json.read('{')"), &json!({})).expect_err("it is none").message();
        assert!(error.contains("not JSON"), "{error}");
    }

    /// What a function of the adapter that is this script returns.
    fn transformed(lua: &Lua, function: &str, argument: &Value) -> Result<Value, Error> {
        testing::run(lua.call("adapter", json!({ "function": function, "argument": argument })))
    }

    #[test]
    fn an_adapter_says_which_functions_it_has_and_answers_for_them() {
        let text = "local homeagent = require('homeagent')\nhomeagent.adapter { key = 'bearer',\n\
                    transform_request = function(request) return { path = '/' .. request.model } end,\n\
                    transform_response = function() homeagent.raise('other', 'no tea') end }";
        let lua = script(&[("main.lua", text)]).expect("the script is good");
        let told = testing::run(lua.call("adapter-describe", Value::Null)).expect("it describes itself");
        assert_eq!((&told["key"], told["functions"].as_array().map(Vec::len)), (&json!("bearer"), Some(2)));
        let returned = transformed(&lua, "transform_request", &json!({ "model": "m" }));
        assert_eq!(returned, Ok(json!({ "returned": { "path": "/m" } })));
        assert_eq!(transformed(&lua, "transform_error", &json!({})), Ok(json!({ "missing": true })));
        let error = transformed(&lua, "transform_response", &json!({})).expect_err("it raises").message();
        assert_eq!(error, "main.lua:4: no tea");
        let error = testing::run(lua.call("describe", Value::Null)).expect_err("it is no plugin").message();
        assert!(error.contains("kind = \"adapter\""), "{error}");
    }

    #[test]
    fn a_script_has_no_files_and_no_system() {
        let lua =
            tool("return { io = io == nil, exit = os.exit == nil, dofile = dofile == nil, now = os.time() > 1e9 }");
        let all = json!({ "value": { "io": true, "exit": true, "dofile": true, "now": true } });
        assert_eq!(call(&lua, &json!({})), Ok(all));
    }

    #[test]
    fn what_waits_can_not_be_called_while_the_script_is_loaded() {
        let text = "require('homeagent').submit { user = 'x', text = 'y' }";
        let error = script(&[("main.lua", text)]).err().expect("it is refused");
        assert!(error.contains("main.lua:1:") && error.contains("while the script is loaded"), "{error}");
        let error = script(&[("main.lua", "\nrequire('homeagent').raise('other', 'no tea')")]);
        let error = error.err().expect("it is refused");
        assert!(error.contains("main.lua:2: no tea"), "{error}");
    }

    #[test]
    fn calls_leave_nothing_behind() {
        let lua = tool("local t = {} for i = 1, 10 do t[i] = { tostring(i) } end return collectgarbage('count')");
        let count = |lua: &Lua| call(lua, &json!({ "some": ["text"] })).expect("a number")["value"].as_f64();
        for _ in 0..5_000 {
            count(&lua);
        }
        let before = count(&lua).expect("a number");
        for _ in 0..20_000 {
            count(&lua);
        }
        let after = count(&lua).expect("a number");
        assert!(after < before * 2.0 + 1024.0, "{before} KiB became {after} KiB");
        assert_eq!(lua.idle.borrow().len(), 1);
    }
}
