//! The same plugin in several languages: whatever it is written in, it does the same.

use homeagent_types::ports::{Haste, PluginAdmin as _, Plugins as _};
use homeagent_types::stage::{Patch, Stage, StageContext, StageData};
use homeagent_types::{CallError, Conversation, Output, OutputKind, Peer};
use serde_json::{Value, json};

use crate::greeters::{examples, install, interpreters, optional};
use crate::house::{self, House};

fn lay(house: &House, name: &str, files: &[(&str, &str)]) {
    let folder = house.plugins().join(name);
    std::fs::create_dir_all(&folder).expect("a folder");
    for (file, text) in files {
        std::fs::write(folder.join(file), text).expect("the folder takes files");
    }
}

async fn with_script(name: &str, files: &[(&str, &str)]) -> House {
    let house = house::with_shared_cache(interpreters());
    lay(&house, name, files);
    house.runtime.load_all().await;
    house.grant_all().await;
    house
}

fn manifest(script: &str) -> String {
    format!("[plugin]\nname = \"script\"\nversion = \"1.0.0\"\nscript = \"{script}\"\n\n[wants.tools]\n")
}

/// What every `examples/greeter-*` does.
async fn does_what_a_greeter_does(house: &House) {
    let status = house.runtime.list().into_iter().find(|status| status.name == "greeter").expect("it is listed");
    assert_eq!((status.state.as_str(), status.version.as_str()), ("live", "0.1.0"), "{:?}", status.reason);
    assert_eq!(status.tools, ["greet", "greeter_report"]);
    house.grant_all().await;
    house.runtime.reload("greeter", Haste::default()).await.expect("granted now, it subscribes");

    // The tool, and the setting it reads.
    assert_eq!(house.call("greeter", "greet", r#"{"name":"Ada"}"#).await, Ok("Hello, Ada!".into()));
    house.settings.set("plugin.greeter.greeting", "Good evening").expect("a declared setting");
    assert_eq!(house.call("greeter", "greet", r#"{"name":"Zoë 🙂"}"#).await, Ok("Good evening, Zoë 🙂!".into()));
    let refused = house.call("greeter", "greet", r#"{"name":""}"#).await;
    assert!(matches!(&refused, Err(CallError::Invalid(words)) if words.contains("name")), "{refused:?}");

    // The channel.
    let receipt = house.runtime.deliver("greeter", output("I was here."), house::cause(5_000)).await;
    assert_eq!(receipt.expect("it takes messages").platform_id.as_deref(), Some("entry-1"));

    // The stage handler.
    let patches = house.runtime.run_stage("greeter", about_to_say("Dinner is ready.")).await.expect("it signs");
    assert_eq!(patches, [Patch::SetText("Dinner is ready.\n(greetings from the greeter)".into())]);

    // The events of others, and the one that its tool published, which another plugin sees.
    house.runtime.publish("plugin.doorbell.rang", json!({ "name": "Grace" }), house::cause(1_000));
    house.runtime.publish("plugin.telephone.rang", json!({ "name": "nobody" }), house::cause(1_000));
    let report = loop {
        let report: Value =
            serde_json::from_str(&house.call("greeter", "greeter_report", "{}").await.expect("a report"))
                .expect("the report is JSON");
        if report["rang"].as_array().is_some_and(|rang| !rang.is_empty()) {
            break report;
        }
        tokio::task::yield_now().await;
    };
    assert_eq!(report, json!({ "rang": ["Grace"], "guest_book": ["I was here."] }));

    let nothing = house.call("greeter", "no_such_tool", "{}").await;
    assert!(matches!(nothing, Err(CallError::NotFound(_))), "{nothing:?}");
}

fn conversation() -> Conversation {
    Conversation { channel: "guest_book".into(), peer: Peer::Person("owner".into()) }
}

fn output(text: &str) -> Output {
    Output {
        id: "output-1".into(),
        run: None,
        conversation: conversation(),
        reply_route: None,
        kind: OutputKind::Message,
        text: text.into(),
        media: Vec::new(),
        structured: None,
        meta: Vec::new(),
    }
}

fn about_to_say(text: &str) -> StageContext {
    StageContext {
        stage: Stage::BeforeOutput,
        data: StageData::Output { text: text.into(), conversation: conversation() },
        turn_data: Vec::new(),
        cause: house::cause(5_000),
    }
}

#[tokio::test]
async fn the_greeter_in_rust_does_what_every_greeter_does() {
    let house = house::empty();
    house.install("greeter-rust", "greeter");
    house.runtime.load_all().await;
    house.grant_all().await;
    does_what_a_greeter_does(&house).await;
}

#[tokio::test]
async fn the_greeter_in_lua_does_what_every_greeter_does() {
    let house = house::with_shared_cache(interpreters());
    install(&house, &examples().join("greeter-lua"));
    house.runtime.load_all().await;
    house.grant_all().await;
    does_what_a_greeter_does(&house).await;
}

#[tokio::test]
async fn the_greeter_in_javascript_does_what_every_greeter_does() {
    let Some(interpreter) = optional("interpreter-js") else { return };
    let house = house::with_shared_cache(interpreters());
    install(&house, &interpreter);
    install(&house, &examples().join("greeter-js"));
    house.runtime.load_all().await;
    house.grant_all().await;
    does_what_a_greeter_does(&house).await;
}

#[tokio::test]
async fn the_greeter_in_python_does_what_every_greeter_does() {
    let Some(greeter) = optional("greeter-python") else { return };
    let house = house::with_shared_cache(Vec::new());
    install(&house, &greeter);
    house.runtime.load_all().await;
    house.grant_all().await;
    does_what_a_greeter_does(&house).await;
}

#[tokio::test]
async fn the_greeter_in_c_does_what_every_greeter_does() {
    let Some(greeter) = optional("greeter-c") else { return };
    let house = house::empty();
    install(&house, &greeter);
    house.runtime.load_all().await;
    house.grant_all().await;
    does_what_a_greeter_does(&house).await;
}

#[tokio::test]
async fn javascript_ends_as_any_guest_does_and_waits_beside_other_calls() {
    let Some(interpreter) = optional("interpreter-js") else { return };
    let house = house::with_shared_cache(interpreters());
    install(&house, &interpreter);
    let main = "import { callTool, tool } from 'homeagent';\n\
                const add = (name, call) => tool({ name, description: 'Tries.', effect: 'read', call });\n\
                add('ask', async (args, cause) => (await Promise.all([1, 2].map(() => callTool('other', {}, cause)))).join('+'));\n\
                add('ok', () => 'ok');\n\
                add('loop', () => { for (;;); });\n\
                add('fail', () => args.missing);\n\
                add('hoard', () => { const all = []; for (;;) all.push('x'.repeat(1000) + all.length); });\n";
    lay(&house, "script", &[("plugin.toml", &manifest("main.js")), ("main.js", main)]);
    house.runtime.load_all().await;
    house.grant_all().await;
    house.settings.set("core.plugin.grace_ms", 50).expect("a valid grace");
    let calls = (0..20).map(|_| house.call("script", "ask", "{}"));
    for answer in futures::future::join_all(calls).await {
        assert_eq!(answer, Ok("done+done".into()));
    }
    assert_eq!(house.call_within("script", "loop", "{}", 200).await, Err(CallError::Timeout));
    assert_eq!(house.call_again("script", "ok").await, Ok("ok".into()));
    let error = house.call("script", "fail", "{}").await.expect_err("it fails").to_string();
    assert!(error.contains("main.js:6: ReferenceError"), "{error}");
    let error = house.call("script", "hoard", "{}").await.expect_err("memory has an end").to_string();
    assert!(error.contains("memory"), "{error}");
    assert_eq!(house.call_again("script", "ok").await, Ok("ok".into()));
}

#[tokio::test]
async fn a_fault_in_a_script_is_told_with_its_file_and_line() {
    let main = "local homeagent = require('homeagent')\n\nlocal part = require('part')\n\
                homeagent.tool { name = 'fail', description = 'Fails.', effect = 'read', call = part.fail }\n";
    let part = "return {\n  fail = function(arguments)\n    return arguments.missing.field\n  end,\n}\n";
    let files = [("plugin.toml", &*manifest("main.lua")), ("main.lua", main), ("part.lua", part)];
    let house = with_script("script", &files).await;
    let error = house.call("script", "fail", "{}").await.expect_err("it fails").to_string();
    assert!(error.contains("part.lua:3:"), "{error}");

    // What can't be loaded is told the same way, and what ran goes on.
    for (text, line) in [("local x = = 1\n", "main.lua:1:"), ("\nerror('no')\n", "main.lua:2:")] {
        std::fs::write(house.plugins().join("script/main.lua"), text).expect("the folder takes files");
        let error =
            house.runtime.reload("script", Haste::default()).await.expect_err("the script is wrong").to_string();
        assert!(error.contains(line), "{error}");
    }
    let error = house.call("script", "fail", "{}").await.expect_err("the old one runs").to_string();
    assert!(error.contains("part.lua:3:"), "{error}");
}

#[tokio::test]
async fn a_saved_script_is_what_runs_after_a_reload_also_when_another_of_its_files_was_saved() {
    let main = "local homeagent = require('homeagent')\nlocal words = require('words')\n\
                homeagent.tool { name = 'say', description = 'Says.', effect = 'read', call = function() return words end }\n";
    let files = [("plugin.toml", &*manifest("main.lua")), ("main.lua", main), ("words.lua", "return 'one'\n")];
    let house = with_script("script", &files).await;
    let digest = || house.runtime.list().into_iter().find(|it| it.name == "script").expect("it is listed").digest;
    let before = digest();
    assert_eq!(house.call("script", "say", "{}").await, Ok("one".into()));
    std::fs::write(house.plugins().join("script/words.lua"), "return 'two'\n").expect("the folder takes files");
    house.runtime.reload("script", Haste::default()).await.expect("the script is good");
    assert_eq!(house.call("script", "say", "{}").await, Ok("two".into()));
    assert_ne!(before, digest());
}

#[tokio::test]
async fn a_script_that_loops_or_hoards_ends_as_any_guest_does_and_the_next_call_works() {
    let main = "local homeagent = require('homeagent')\n\
                local function tool(name, call)\n\
                homeagent.tool { name = name, description = 'Tries.', effect = 'read', call = call }\nend\n\
                tool('ok', function() return 'ok' end)\n\
                tool('loop', function() while true do end end)\n\
                tool('recurse', function() local function f() return 1 + f() end return f() end)\n\
                tool('hoard', function() local t = {} while true do t[#t + 1] = ('x'):rep(1000) .. #t end end)\n";
    let house = with_script("script", &[("plugin.toml", &manifest("main.lua")), ("main.lua", main)]).await;
    house.settings.set("core.plugin.grace_ms", 50).expect("a valid grace");
    assert_eq!(house.call_within("script", "loop", "{}", 200).await, Err(CallError::Timeout));
    assert_eq!(house.call_again("script", "ok").await, Ok("ok".into()));
    let error = house.call("script", "recurse", "{}").await.expect_err("it is too deep").to_string();
    assert!(error.contains("main.lua") && error.contains("stack overflow"), "{error}");
    let error = house.call("script", "hoard", "{}").await.expect_err("memory has an end").to_string();
    assert!(error.contains("64 MiB"), "{error}");
    assert_eq!(house.call_again("script", "ok").await, Ok("ok".into()));
}

#[tokio::test]
async fn a_call_of_a_script_that_waits_for_the_host_holds_up_no_other_and_keeps_its_rights() {
    let main = "local homeagent = require('homeagent')\n\
                homeagent.tool { name = 'ask', description = 'Asks.', effect = 'read', call = function(arguments, cause)\n\
                local inside = coroutine.wrap(function() return (homeagent.call_tool('other', {}, cause)) end)\n\
                return inside() .. '!' end }\n";
    let house = with_script("script", &[("plugin.toml", &manifest("main.lua")), ("main.lua", main)]).await;
    let calls = (0..20).map(|_| house.call("script", "ask", "{}"));
    for answer in futures::future::join_all(calls).await {
        assert_eq!(answer, Ok("done!".into()));
    }
    let called = house.mind.called.lock().expect("no panic").clone();
    assert_eq!(called.len(), 20);
    assert!(called.iter().all(|(_, tool, cause)| tool == "other" && cause.principal == house::owner()));
}

#[tokio::test]
async fn a_script_without_its_interpreter_says_what_is_missing() {
    let house = house::empty();
    install(&house, &examples().join("greeter-lua"));
    house.runtime.load_all().await;
    let status = house.runtime.list().into_iter().find(|status| status.name == "greeter").expect("it is listed");
    assert_eq!(status.state, "refused");
    assert!(status.reason.as_deref().is_some_and(|reason| reason.contains("no interpreter of .lua")), "{status:?}");
}

#[tokio::test]
async fn nothing_is_granted_to_a_script_because_it_is_one() {
    let house = house::with_shared_cache(interpreters());
    install(&house, &examples().join("greeter-lua"));
    house.runtime.load_all().await;
    assert!(house.tools().is_empty(), "its tools are shown to nobody");
    let error = house.call("greeter", "greet", r#"{"name":"Ada"}"#).await.expect_err("it may not");
    assert!(matches!(error, CallError::Denied(_)), "{error:?}");
}

/// What a script keeps and touches, by what each of its tools answers.
async fn keeps_and_touches(house: &House) {
    let tools = [("keys", "蛋 a,b"), ("disk", "one two data.txt:file 7"), ("shell", "exited 0 hello")];
    for (tool, answer) in tools {
        assert_eq!(house.call("script", tool, "{}").await, Ok(answer.into()), "{tool}");
    }
    assert_eq!(house.call("script", "remind", "{}").await, Ok("eggs".into()));
    house::soon(async {
        while house.call("script", "told", "{}").await != Ok("eggs boil 0".into()) {
            tokio::task::yield_now().await;
        }
    })
    .await;
    let refused = house.call("script", "stray", "{}").await;
    assert!(matches!(&refused, Err(CallError::Invalid(words)) if words.contains("leads out")), "{refused:?}");
}

const MACHINE: &str = "\n[wants.files]\n[wants.process]\nprograms = [\"/bin/sh\"]\n[wants.timers]\n";

#[tokio::test]
async fn a_script_in_lua_keeps_and_touches_what_any_plugin_does() {
    let main = r#"
        local homeagent = require("homeagent")
        local kv, files, timers = homeagent.kv, homeagent.files, homeagent.timers
        local function tool(name, call) homeagent.tool { name = name, description = "Tries.", effect = "read", call = call } end
        tool("keys", function()
            kv.set("a", "蛋") kv.set("b", "") kv.set("c", "") kv.delete("c")
            return kv.get("a") .. " " .. table.concat(kv.list(""), ",")
        end)
        tool("disk", function()
            files.write("data", "x", "one") files.append("data", "x", " two") files.rename("data", "x", "data.txt")
            local first = files.list("data")[1]
            local size = files.stat("data", "data.txt").size
            return files.read("data", "data.txt") .. " " .. first.name .. ":" .. first.kind .. " " .. size
        end)
        tool("shell", function()
            local said = homeagent.run { program = "/bin/sh", arguments = { "-c", "cat" }, input = "hello" }
            return said.ending .. " " .. said.code .. " " .. said.output
        end)
        tool("remind", function() return timers.at("eggs", 1, "boil").name end)
        homeagent.on_timer(function(firing)
            kv.set("told", firing.name .. " " .. firing.payload .. " " .. firing.missed)
        end)
        tool("told", function() return kv.get("told") or "" end)
        tool("stray", function() return files.read("data", "../x") end)
    "#;
    let manifest = manifest("main.lua") + MACHINE;
    let house = with_script("script", &[("plugin.toml", &manifest), ("main.lua", main)]).await;
    keeps_and_touches(&house).await;
}

#[tokio::test]
async fn a_script_in_javascript_keeps_and_touches_what_any_plugin_does() {
    let Some(interpreter) = optional("interpreter-js") else { return };
    let main = r#"
        import { files, kv, onTimer, run, timers, tool } from "homeagent";
        const add = (name, call) => tool({ name, description: "Tries.", effect: "read", call });
        add("keys", async () => {
            await kv.set("a", "蛋"); await kv.set("b", ""); await kv.set("c", ""); await kv.delete("c");
            return `${await kv.get("a")} ${await kv.list()}`;
        });
        add("disk", async () => {
            await files.write("data", "x", "one");
            await files.append("data", "x", " two");
            await files.rename("data", "x", "data.txt");
            const [first] = await files.list("data");
            const { size } = await files.stat("data", "data.txt");
            return `${await files.read("data", "data.txt")} ${first.name}:${first.kind} ${size}`;
        });
        add("shell", async () => {
            const said = await run({ program: "/bin/sh", arguments: ["-c", "cat"], input: "hello" });
            return `${said.ending} ${said.code} ${said.output}`;
        });
        add("remind", async () => (await timers.at("eggs", 1, "boil")).name);
        onTimer(({ name, payload, missed }) => kv.set("told", `${name} ${payload} ${missed}`));
        add("told", async () => (await kv.get("told")) ?? "");
        add("stray", () => files.read("data", "../x"));
    "#;
    let house = house::with_shared_cache(interpreters());
    install(&house, &interpreter);
    let manifest = manifest("main.js") + MACHINE;
    lay(&house, "script", &[("plugin.toml", &manifest), ("main.js", main)]);
    house.runtime.load_all().await;
    house.grant_all().await;
    keeps_and_touches(&house).await;
}

/// Sets a timer for the owner, whose first firing queues an input, is told so late that it is due again, and then ends it.
async fn has_errands(house: &House) {
    assert_eq!(house.call("script", "remind", r#"{"name":"eggs"}"#).await, Ok("eggs moved".into()));
    house::until(|| house.mind.errands.lock().expect("no panic").len() == 2).await;
    house::soon(async {
        while house.call("script", "left", "{}").await != Ok("0".into()) {
            tokio::task::yield_now().await;
        }
    })
    .await;
    let errands = house.mind.errands.lock().expect("no panic");
    let claims: Vec<_> = errands.iter().filter_map(|(_, errand)| errand.submission.platform_id.clone()).collect();
    assert_eq!(claims, ["eggs@2000", "eggs@3000"]);
    let (_, first) = &errands[0];
    assert_eq!(first.cause.principal, house::owner());
    assert_eq!(first.to.as_ref().map(Conversation::to_string).as_deref(), Some("qq:group/678"));
    assert_eq!(first.submission.meta, [("tool".to_owned(), "calc".to_owned())]);
    assert_eq!((first.interrupts, errands[1].1.interrupts), (true, false));
}

const ERRANDS: &str = "\n[wants.timers]\n[wants.input]\n[wants.errands]\n";

#[tokio::test]
async fn a_script_in_lua_has_errands() {
    let main = r#"
        local homeagent = require("homeagent")
        local errands, timers = homeagent.errands, homeagent.timers
        homeagent.tool { name = "remind", description = "Sets.", call = function(arguments, cause)
            local far = 4000000000000
            local set = errands.calendar(arguments.name, far, 1, cause)
            local moved = errands.change(arguments.name, { calendar = 2000 }, 1)
            if moved.due == 2000 and errands.change("none", { at = 5 }) == nil then return set.name .. " moved" end
        end }
        homeagent.tool { name = "left", description = "Counts.", call = function() return tostring(#timers.list()) end }
        homeagent.on_timer(function(firing)
            local claim = firing.name .. "@" .. firing.due
            if firing.payload == 2 then
                errands.submit({ text = "again", platform_id = claim }, firing.cause)
                return
            end
            errands.submit({ text = "boil", platform_id = claim, meta = { tool = "calc" }, interrupts = true,
                to = { channel = "qq", peer = { group = "678" } } }, firing.cause)
            return { due = 3000, payload = 2 }
        end)
    "#;
    let manifest = manifest("main.lua") + ERRANDS;
    has_errands(&with_script("script", &[("plugin.toml", &manifest), ("main.lua", main)]).await).await;
}

#[tokio::test]
async fn a_script_in_javascript_has_errands() {
    let Some(interpreter) = optional("interpreter-js") else { return };
    let main = r#"
        import { errands, onTimer, timers, tool } from "homeagent";
        tool({ name: "remind", description: "Sets.", call: async ({ name }, cause) => {
            const set = await errands.calendar(name, 4000000000000, 1, cause);
            const moved = await errands.change(name, { calendar: 2000 }, 1);
            if (moved.due === 2000 && (await errands.change("none", { at: 5 })) === null) return `${set.name} moved`;
        } });
        tool({ name: "left", description: "Counts.", call: async () => String((await timers.list()).length) });
        onTimer(async ({ name, due, payload, cause }) => {
            const claim = `${name}@${due}`;
            if (payload === 2) {
                await errands.submit({ text: "again", platform_id: claim }, cause);
                return;
            }
            const to = { channel: "qq", peer: { group: "678" } };
            await errands.submit({ text: "boil", platform_id: claim, meta: { tool: "calc" }, interrupts: true, to }, cause);
            return { due: 3000, payload: 2 };
        });
    "#;
    let house = house::with_shared_cache(interpreters());
    install(&house, &interpreter);
    let manifest = manifest("main.js") + ERRANDS;
    lay(&house, "script", &[("plugin.toml", &manifest), ("main.js", main)]);
    house.runtime.load_all().await;
    house.grant_all().await;
    has_errands(&house).await;
}
