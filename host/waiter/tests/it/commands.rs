//! Every command, as people and as programs see it.

use homeagent_journal::RunStatus;
use homeagent_settings::{Declaration, Kind};
use serde_json::json;

use crate::house::House;
use crate::program::{end, run, run_with, start};

#[tokio::test(flavor = "multi_thread")]
async fn plugins_are_listed_with_what_keeps_them_from_working() {
    let house = House::open().await;
    insta::assert_snapshot!(run(&house, &["plugin", "list"]).await.shown(&house), @r#"
    NAME  VERSION  STATE   UP     CALLS  RESTARTS  TOOLS  GRANTED  DIGEST        SIGNED BY                                SUMMARY
    calc  0.1.0    live    1.0 s  12     0         1      -        000000000000  homed                                    Reckons
    qq    0.1.0    failed  1.0 s  12     5         0      -        000000000000  5891-b5b5-22d5-df08-6d0f-f0b1-10fb-d9d2  QQ 频道

    qq is failed: it trapped five times in ten minutes
    qq asks for http (hosts = ["api.example.com","evil.example"]), and has of it (hosts = ["api.example.com"]): `waiter plugin grant qq http` allows it
    qq asks for listen: `waiter plugin grant qq listen` allows it

    packages are looked for in /home/plugins
      broken is refused: plugin.toml of /home/plugins/broken is not valid: a typo
      qq (qq) is failed: it trapped five times in ten minutes
    --- exit code 0
    "#);
    insta::assert_snapshot!(run(&house, &["plugin", "reload", "calc"]).await.shown(&house), @r"
    calc 0.1.0 is live
    --- exit code 0
    ");
    run(&house, &["plugin", "reload", "calc", "--wait", "5", "--force"]).await;
    assert_eq!(house.plugins.done.lock().unwrap().last().map(String::as_str), Some("reload calc by force"));
    insta::assert_snapshot!(run(&house, &["plugin", "reload", "calc", "--wait", "0"]).await.shown(&house), @r"
    --- stderr
    calc is busy
    --- exit code 1
    ");
    insta::assert_snapshot!(run(&house, &["plugin", "grant", "qq", "listen"]).await.shown(&house), @r#"
    qq 0.1.0 is failed, signed by 5891-b5b5-22d5-df08-6d0f-f0b1-10fb-d9d2; granted: http (hosts = ["api.example.com"])
    qq is failed: it trapped five times in ten minutes
    qq asks for http (hosts = ["api.example.com","evil.example"]), and has of it (hosts = ["api.example.com"]): `waiter plugin grant qq http` allows it
    qq asks for listen: `waiter plugin grant qq listen` allows it
    --- exit code 0
    "#);
    run(&house, &["plugin", "grant", "qq", "--all"]).await;
    let done = house.plugins.done.lock().unwrap().clone();
    assert_eq!(done[done.len() - 2..], ["grant qq http", "grant qq listen"]);
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("calc")).unwrap();
    let package = folder.path().join("calc").display().to_string();
    assert!(run(&house, &["plugin", "install", &package]).await.shown(&house).contains("calc 0.1.0 is live"));
    let missing = folder.path().join("nothing").display().to_string();
    assert!(run(&house, &["plugin", "install", &missing]).await.shown(&house).contains("can't be read"));
    insta::assert_snapshot!(run(&house, &["plugin", "remove", "qq"]).await.shown(&house), @r"
    qq is removed, with what it was granted
    --- exit code 0
    ");
    assert_eq!(run(&house, &["plugin", "folders", "--json"]).await.json()["entries"][0]["state"], "refused");
    insta::assert_snapshot!(run(&house, &["plugin", "unload", "none"]).await.shown(&house), @r#"
    --- stderr
    there is no plugin "none"
    --- exit code 1
    "#);
    assert_eq!(run(&house, &["plugin", "list", "--json"]).await.json()[1]["state"], "failed");
    let problem = run(&house, &["plugin", "unload", "none", "--json"]).await;
    assert_eq!((problem.json()["status"].clone(), problem.code), (json!(404), 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn tools_are_listed_and_called() {
    let house = House::open().await;
    insta::assert_snapshot!(run(&house, &["tools"]).await.shown(&house), @r"
    NAME  OF    EFFECT  FOR     DESCRIPTION
    calc  calc  read    member  Reckons, 也会算术
    --- exit code 0
    ");
    // What a tool wrote for the terminal to obey is shown instead.
    insta::assert_snapshot!(run(&house, &["tools", "call", "calc", r#"{"a":1}"#]).await.shown(&house), @r"
    3␛[2J
    --- exit code 0
    ");
    insta::assert_snapshot!(run(&house, &["tools", "call", "sad"]).await.shown(&house), @r"
    it did not work
    --- exit code 1
    ");
    insta::assert_snapshot!(run(&house, &["tools", "call", "shy", "{}"]).await.shown(&house), @r"
    --- stderr
    http is not granted: GET https://example.org
    hint: waiter plugin grant shy http
    --- exit code 1
    ");
    let exact = r#"{"a":1.00000000000000000000000001}"#;
    let called = run_with(&house, &["tools", "call", "echo", "-"], exact).await;
    assert_eq!(called.stdout.trim(), exact);
    let called = run(&house, &["--json", "tools", "call", "echo", exact]).await;
    assert!(called.stdout.contains(exact), "{}", called.stdout);
}

#[tokio::test(flavor = "multi_thread")]
async fn embedding_models_are_listed_installed_chosen_and_tried() {
    let house = House::open().await;
    insta::assert_snapshot!(run(&house, &["models"]).await.shown(&house), @r"
       NAME    WHAT            SIZE    WHERE
    *  e5      sentence model  52 MiB  /home/ada/models/e5
       tf-idf  words
    e5 is used (onnx, 384 dimensions): it is the first sentence model in the folder of models
    by ONNX Runtime 1.32 (/usr/lib/libonnxruntime.so)
    --- exit code 0
    ");
    insta::assert_snapshot!(run(&house, &["models", "use", "e5"]).await.shown(&house), @r"
    e5 is used
    --- exit code 0
    ");
    insta::assert_snapshot!(run(&house, &["models", "test", "猫", "cat"]).await.shown(&house), @r"
    e5 (onnx): 384 dimensions, 4.5 ms
    cosine 0.8750
    --- exit code 0
    ");
    insta::assert_snapshot!(run(&house, &["models", "install", "/tmp/none/e5"]).await.shown(&house), @r#"
    --- stderr
    there is no folder "/tmp/none/e5"
    --- exit code 1
    "#);
}

#[tokio::test(flavor = "multi_thread")]
async fn timers_are_listed_paused_resumed_and_cancelled() {
    let house = House::open().await;
    insta::assert_snapshot!(run(&house, &["timers"]).await.shown(&house), @r"
    NAME  NEXT                       WHEN       BY      WHAT
    tea   2026-12-01T09:00:00+08:00  0 9 * * *  cli:me  drink ␛[2Jtea
    times of Asia/Shanghai
    --- exit code 0
    ");
    insta::assert_snapshot!(run(&house, &["timers", "pause", "tea", "--of", "cli:ann"]).await.shown(&house), @r"
    tea is paused
    --- exit code 0
    ");
    insta::assert_snapshot!(run(&house, &["timers", "resume", "tea"]).await.shown(&house), @r"
    tea is due at 2026-12-01T09:00:00+08:00
    --- exit code 0
    ");
    insta::assert_snapshot!(run(&house, &["timers", "cancel", "tea"]).await.shown(&house), @r"
    cancelled tea
    --- exit code 0
    ");
    let missing = run(&house, &["timers", "cancel", "none"]).await;
    assert_eq!(missing.code, 1);
    let listed = run(&house, &["timers", "list", "--limit", "1", "--after", "a", "--json"]).await;
    assert_eq!(listed.json()["timers"][0]["name"], "tea");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_remembered_is_found_shown_and_explained() {
    let house = House::open().await;
    insta::assert_snapshot!(run(&house, &["memory"]).await.shown(&house), @r"
    42 passages can be found
    the journal is read up to 90 of 100
    by words, and by meaning as vectors are made (multilingual-e5-small; 20 since the start)
    the indexes are made anew: journal, 30 of 100
    not well: the disk is full
    --- exit code 0
    ");
    insta::assert_snapshot!(run(&house, &["memory", "reindex"]).await.shown(&house), @r"
    42 passages can be found
    the journal is read up to 90 of 100
    by words and by meaning (multilingual-e5-small)
    --- exit code 0
    ");
    insta::assert_snapshot!(run(&house, &["memory", "search", "my", "cat"]).await.shown(&house), @r"
    ID      WHEN              WHERE      WHO  SCORE  WHAT
    said/7  2026-05-03 03:09  cli:owner  Ann  0.75   my cat is ␛[2J团子
    --- exit code 0
    ");
    insta::assert_snapshot!(run(&house, &["memory", "show", "said/7"]).await.shown(&house), @r"
    said/7 in cli:owner, for person:cli:owner
    > 2026-05-03 03:09  Ann: my cat is 团子
      2026-05-03 03:09  the agent: a nice name
    --- exit code 0
    ");
    insta::assert_snapshot!(run(&house, &["memory", "explain", "r1", "--all"]).await.shown(&house), @r"
    ID      WHEN              WHO                  SCORE  WHAT
    said/7  2026-05-03 03:09  Ann (others' words)  0.75   my cat is 团子
    also shown: kept facts
    120 characters, found in 12 ms
    left out: documents
    window (full): 41 of at most 30 events; 2 exchanges stayed, 1 left it for the documents
    of 40 tools these were shown:
      always: memory_recall
      nearest: weather
    --- exit code 0
    ");
    insta::assert_snapshot!(run(&house, &["memory", "explain", "r1"]).await.shown(&house), @r"
    ID      WHEN              WHO                  SCORE  WHAT
    said/7  2026-05-03 03:09  Ann (others' words)  0.75   (not for you, or forgotten)
    also shown: kept facts
    120 characters, found in 12 ms
    left out: documents
    window (full): 41 of at most 30 events; 2 exchanges stayed, 1 left it for the documents
    of 40 tools these were shown:
      always: memory_recall
      nearest: weather
    --- exit code 0
    ");
    insta::assert_snapshot!(run(&house, &["memory", "show", "said/8"]).await.shown(&house), @r"
    --- stderr
    there is no passage said/8
    --- exit code 1
    ");
    let known = run(&house, &["memory", "graph", "Ann"]).await.shown(&house);
    for line in ["Ann, 安安, cli:ann (person)", "Ann住在杭州", "no longer"] {
        assert!(known.contains(line), "{known}");
    }
    assert!(run(&house, &["memory", "graph"]).await.shown(&house).contains("2 relations in all"));
    assert!(run(&house, &["memory", "graph", "Bob"]).await.shown(&house).contains("nothing is known of it"));
    insta::assert_snapshot!(run(&house, &["memory", "forget", "--text", "团子"]).await.shown(&house), @r"
    would be forgotten: 1 events of the journal, 1 passages
    WHAT   ID      TEXT
    event  said/7  my cat is␛[2J团子
    plugins keep it under: may␛ (diary); --plugins forgets these values too
    it stands in: backups/may.db
    nothing was changed; --yes forgets it, which can't be taken back
    --- exit code 0
    ");
    let too = ["memory", "forget", "--text", "团子", "--plugins"];
    insta::assert_snapshot!(run(&house, &too).await.shown(&house), @r"
    would be forgotten: 1 events of the journal, 1 passages
    WHAT    ID      TEXT
    event   said/7  my cat is␛[2J团子
    plugin  diary   may␛
    it stands in: backups/may.db
    nothing was changed; --yes forgets it, which can't be taken back
    --- exit code 0
    ");
    insta::assert_snapshot!(run(&house, &["memory", "export", "/tmp/new.jsonl"]).await.shown(&house), @r"
    42 records in /tmp/new.jsonl, 4200 bytes
    --- exit code 0
    ");
    let taken = run(&house, &["memory", "export", "/tmp/there.jsonl"]).await;
    assert!(taken.code == 1 && taken.stderr.contains("is there already"), "{}", taken.stderr);
    assert_eq!(run(&house, &["memory", "export", "/tmp/there.jsonl", "--replace"]).await.code, 0);
    insta::assert_snapshot!(run(&house, &["memory", "import", "/tmp/new.jsonl"]).await.shown(&house), @r"
    taken in: 30 rows of the graph, 2 documents
    not as in the file: memory.md is another␛ and was left as it is
    --- exit code 0
    ");
    let broken = run(&house, &["memory", "import", "/tmp/broken.jsonl"]).await;
    assert!(broken.code == 1 && broken.stderr.contains("line 3"), "{}", broken.stderr);
    let gone = run(&house, &["memory", "forget", "--text", "团子", "--yes", "--json"]).await;
    assert_eq!(gone.json()["dry_run"], false);
    let all = run(&house, &["memory", "search", "cat", "--all", "--json"]).await;
    assert_eq!(
        (all.json()[0]["id"].as_str(), all.json()[1]["parts"][0]["name"].as_str()),
        (Some("said/7"), Some("keyword"))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn settings_are_shown_and_changed() {
    let house = House::open().await;
    let secret = Declaration::new("plugin.qq.access_token", Kind::Secret, serde_json::Value::Null, "What NapCat 显示");
    house.settings.declare_plugin("qq", vec![secret]).unwrap();
    let key = "core.agent.turn_seconds";
    insta::assert_snapshot!(run(&house, &["settings", "set", key, "5min"]).await.shown(&house), @r"
    core.agent.turn_seconds is 300 s
    --- exit code 0
    ");
    insta::assert_snapshot!(run(&house, &["settings", "get", key]).await.shown(&house), @r"
    300
    --- exit code 0
    ");
    insta::assert_snapshot!(run(&house, &["settings", "unset", key]).await.shown(&house), @r"
    core.agent.turn_seconds is 600 s, its default
    --- exit code 0
    ");
    insta::assert_snapshot!(run(&house, &["settings", "set", key, "-5"]).await.shown(&house), @r#"
    --- stderr
    "core.agent.turn_seconds" can't be "-5": allowed is a time from 1 s to 86400 s, such as 1 or "10s"
    --- exit code 1
    "#);
    insta::assert_snapshot!(run(&house, &["settings", "get", "core.agent.turn"]).await.shown(&house), @r#"
    --- stderr
    there is no setting "core.agent.turn"; did you mean "core.agent.rounds"?
    hint: `waiter settings list` shows all settings
    --- exit code 1
    "#);
    let token = "plugin.qq.access_token";
    insta::assert_snapshot!(run_with(&house, &["settings", "set", token, "-"], "s3cret-s3cret\n").await.shown(&house), @r"
    plugin.qq.access_token is set
    --- exit code 0
    ");
    assert_eq!(house.secrets.get(token).unwrap().unwrap().expose(), "s3cret-s3cret");
    let listen = ["settings", "set", "core.gateway.listen", "127.0.0.1:8687"];
    insta::assert_snapshot!(run(&house, &listen).await.shown(&house), @r"
    core.gateway.listen is 127.0.0.1:8687; it takes effect when the daemon restarts
    --- exit code 0
    ");
    insta::assert_snapshot!(run(&house, &["settings", "list", "plugin.qq"]).await.shown(&house), @r"
    plugin.qq     VALUE           DESCRIPTION
    access_token  set    changed  What NapCat 显示
    --- exit code 0
    ");
}

#[tokio::test(flavor = "multi_thread")]
async fn sources_are_looked_after() {
    let house = House::open().await;
    // An empty list looks for sources, and what runs on this machine is none of a test's.
    house.settings.set("core.discovery.enabled", false).unwrap();
    insta::assert_snapshot!(run(&house, &["source", "list"]).await.shown(&house), @r"
    no sources; `waiter source add NAME --adapter A --model M --key-env VAR` adds one
    --- exit code 0
    ");
    let add = ["source", "add", "main", "--adapter", "vendor", "--model", "m", "--key-stdin", "--option", "a=b=c"];
    insta::assert_snapshot!(run_with(&house, &add, "sk-123456\n").await.shown(&house), @r"
    main is added: vendor with m at https://api.vendor.example/v1, a=b=c; its key is set
    --- exit code 0
    ");
    assert_eq!(house.secrets.get("source.main.key").unwrap().unwrap().expose(), "sk-123456");
    let add = ["source", "add", "spare", "--adapter", "parrot", "--line", "main"];
    insta::assert_snapshot!(run(&house, &add).await.shown(&house), @r"
    spare is added: parrot with parrot-1 at offline:; its key is not set
    --- exit code 0
    ");
    insta::assert_snapshot!(run(&house, &["source", "use", "spare"]).await.shown(&house), @r"
    spare is tried first: parrot with parrot-1 at offline:; its key is not set
    --- exit code 0
    ");
    insta::assert_snapshot!(run(&house, &["source", "list"]).await.shown(&house), @r"
    LINE  NAME   ADAPTER  MODEL     KEY      STATE  BASE URL
    main  spare  parrot   parrot-1  not set  ready  offline:
    main  main   vendor   m         set      ready  https://api.vendor.example/v1
    --- exit code 0
    ");
    let set = ["source", "set", "main", "model=m2", "temperature=0.2", "option.a=", "option.effort=low", "enabled=no"];
    insta::assert_snapshot!(run(&house, &set).await.shown(&house), @r"
    main is changed: vendor with m2 at https://api.vendor.example/v1, effort=low, temperature=0.2; its key is set
    --- exit code 0
    ");
    assert_eq!(run(&house, &["source", "list", "--json"]).await.json()[1]["enabled"], false);
    let bad = run(&house, &["source", "set", "main", "temperature=warm"]).await;
    assert_eq!((bad.code, bad.stderr.contains("a number from 0 to 2")), (1, true), "{}", bad.stderr);
    assert_eq!(run(&house, &["source", "set", "main", "colour=red"]).await.code, 2);
    let test = run(&house, &["source", "test", "spare", "--json"]).await;
    assert_eq!((test.json()["ok"].clone(), test.code), (json!(true), 0));
    let add = ["source", "add", "broken", "--adapter", "vendor", "--model", "m", "--base-url", "http://127.0.0.1:1"];
    assert_eq!(run(&house, &add).await.code, 0);
    let test = run(&house, &["source", "test", "broken"]).await;
    assert_eq!(test.code, 1, "{}", test.stdout);
    insta::assert_snapshot!(run(&house, &["source", "remove", "main"]).await.shown(&house), @r"
    main is removed, and its key with it
    --- exit code 0
    ");
    let unset = ["source", "add", "x", "--adapter", "vendor", "--key-env", "NO_SUCH_VARIABLE"];
    insta::assert_snapshot!(run(&house, &unset).await.shown(&house), @r"
    --- stderr
    the environment variable NO_SUCH_VARIABLE is not set
    --- exit code 1
    ");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_models_of_a_vendor_are_listed() {
    let house = House::open().await;
    let listed = r#"[{"id":"qwen3:8b","display_name":"Qwen 3","context_window":40960,"max_output":8192,"meta":[]},
        {"id":"bge-m3","display_name":null,"context_window":8192,"max_output":null,"meta":[["kind","embedding"]]},
        {"id":"wild","display_name":"a\u001b[2J b","context_window":null,"max_output":1000000,"meta":[]}]"#;
    let url = crate::fakes::vendor(vec![(200, listed), (200, listed), (200, "[]"), (401, "no such key")]).await;
    let add = ["source", "add", "home", "--adapter", "vendor", "--base-url", &url, "--model", "qwen3:8b"];
    assert_eq!(run(&house, &add).await.code, 0);
    insta::assert_snapshot!(run(&house, &["source", "models", "home"]).await.shown(&house), @r"
       MODEL     WINDOW  LONGEST ANSWER  NAME
       bge-m3    8,192   -               makes vectors
    *  qwen3:8b  40,960  8,192           Qwen 3
       wild      -       1,000,000       a [2J b
    --- exit code 0
    ");
    let add = ["source", "add", "home", "--adapter", "vendor", "--base-url", &url, "--model", "gone"];
    assert_eq!(run(&house, &add).await.code, 0);
    let said = run(&house, &["source", "models", "home"]).await.stdout;
    assert!(said.ends_with("gone, which home asks for, is not among them\n"), "{said}");
    insta::assert_snapshot!(run(&house, &["source", "models", "home"]).await.shown(&house), @r"
    the vendor of home lists no models
    --- exit code 0
    ");
    let refused = run(&house, &["source", "models", "home"]).await;
    assert!(refused.code == 1 && refused.stderr.contains("no such key"), "{}", refused.stderr);
    let unknown = run(&house, &["source", "models", "none"]).await;
    assert!(unknown.code == 1 && unknown.stderr.contains("configured are: home"), "{}", unknown.stderr);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_turn_is_sent_and_its_reply_printed() {
    let house = House::open().await;
    insta::assert_snapshot!(run(&house, &["send", "good", "morning"]).await.shown(&house), @r"
    you said: good morning
    --- exit code 0
    ");
    insta::assert_snapshot!(run_with(&house, &["send", "-"], "two\nlines\n").await.shown(&house), @r"
    you said: two
    lines
    --- exit code 0
    ");
    insta::assert_snapshot!(run(&house, &["send", "evil \u{1b}]0;pwned\u{7}"]).await.shown(&house), @r"
    you said: evil ␛]0;pwned␇
    --- exit code 0
    ");
    assert_eq!(run(&house, &["--json", "send", "x"]).await.json()["reply"], "you said: x");
    insta::assert_snapshot!(run(&house, &["send", "busy"]).await.shown(&house), @r"
    --- stderr
    busy: try again later
    --- exit code 1
    ");
    assert_eq!(run(&house, &["send"]).await.code, 2);
    assert_eq!(run(&house, &["dance"]).await.code, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn turns_are_stopped() {
    let house = House::open().await;
    insta::assert_snapshot!(run(&house, &["stop"]).await.shown(&house), @r"
    nothing was running
    --- exit code 0
    ");
    let turn = start(house.home.path(), &["send", "wait"]);
    // Until it runs there is nothing to stop.
    loop {
        let stopped = run(&house, &["stop", "--json"]).await.json();
        if stopped["stopped"] == json!(["run-1"]) {
            break;
        }
    }
    insta::assert_snapshot!(end(turn).await.shown(&house), @r"
    --- stderr
    the turn run-1 failed: the owner stopped it
    --- exit code 1
    ");
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_are_shown() {
    let house = House::open().await;
    insta::assert_snapshot!(run(&house, &["runs"]).await.shown(&house), @r"
    no runs
    --- exit code 0
    ");
    let run_id = house.journal.start_run("cli:主人", "cli:主人", &[]).await.unwrap().run;
    house
        .journal
        .finish_run(&run_id, Vec::new(), RunStatus::Failed, Some("failed"), Some("no model answers"), json!({}))
        .await
        .unwrap();
    let list = run(&house, &["runs", "list", "--limit", "5"]).await;
    assert!(list.stdout.contains(&run_id) && list.stdout.contains("failed: no model answers"), "{}", list.stdout);
    let shown = run(&house, &["runs", "show", &run_id]).await;
    assert!(shown.stdout.contains("run_started") && shown.stdout.contains("cli:主人"), "{}", shown.stdout);
    insta::assert_snapshot!(run(&house, &["runs", "show", "none"]).await.shown(&house), @r#"
    --- stderr
    there is no run "none"
    hint: `waiter runs list` shows the last runs
    --- exit code 1
    "#);
}

#[tokio::test(flavor = "multi_thread")]
async fn recordings_go_through_an_adapter() {
    let house = House::open().await;
    let file = house.home.path().join("recorded");
    std::fs::write(&file, "data: one \n\ndata: two\n\n").unwrap();
    let file = file.display().to_string();
    insta::assert_snapshot!(run(&house, &["adapter", "try", "parrot", &file, "--chunk", "1"]).await.shown(&house), @r#"
    {"text":"one two","reasoning":"","tool_calls":[{"id":"1","name":"add","arguments":{"a":1.000000000000000000001}}],"finish":"tool_calls","usage":null,"error":null}
    --- exit code 0
    "#);
    insta::assert_snapshot!(run(&house, &["adapter", "try", "none", &file]).await.shown(&house), @r"
    --- stderr
    there is no adapter `none`; at hand are: parrot, vendor
    --- exit code 1
    ");
    assert_eq!(run(&house, &["adapter", "try", "parrot", &file, "--chunk", "0"]).await.code, 2);
    assert_eq!(run(&house, &["adapter", "try", "parrot", "/nowhere/at/all"]).await.code, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_daemon_the_sentence_says_which_socket() {
    let house = House::open().await;
    let House { gateway, home, .. } = house;
    gateway.shutdown().await;
    let outcome = end(start(home.path(), &["status"])).await;
    assert_eq!(outcome.code, 3);
    assert!(outcome.stdout.is_empty());
    let socket = home.path().join("homed.sock").display().to_string();
    assert!(outcome.stderr.contains(&socket) && outcome.stderr.contains("is `homed` running?"), "{}", outcome.stderr);
    let outcome = end(start(home.path(), &["--json", "status"])).await;
    assert_eq!((outcome.json()["type"].clone(), outcome.code), (json!("urn:homeagent:problem:unreachable"), 3));
    let outcome = end(start(home.path(), &[])).await;
    assert_eq!(outcome.code, 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_daemon_says_how_it_is() {
    let house = House::open().await;
    let status = run(&house, &["status"]).await;
    let varies = |line: &&str| ["homed ", "url", "process"].iter().any(|name| line.starts_with(name));
    let stable: Vec<&str> = status.stdout.lines().filter(|line| !varies(line)).collect();
    let free = stable[0].split_once(", ").map(|(_, free)| free).unwrap_or_default();
    assert!(free.ends_with("iB free on its disk"), "{free}");
    insta::assert_snapshot!(stable.join("\n").replace(&house.home.path().display().to_string(), "HOME").replace(free, "..."), @r"
    home     HOME, ...
    agent    running; turns since its start: 0; inputs that wait: 0
    today    0 tokens in, 0 out, without what is free
    tokens   1200 in, 80 out since the agent's start
    plugins  1 live
             qq is failed: it trapped five times in ten minutes
             calls that wait for calc: 3
    sources  none; `waiter source add` adds one
    problems 2023-11-14 22:13:20 warn plugin: the plugin failed; starting it again (run 0199a0c7)
    ");
    assert_eq!(run(&house, &["status", "--json"]).await.json()["name"], "homed");
}

#[tokio::test(flavor = "multi_thread")]
async fn settings_are_listed_in_groups() {
    let house = House::open().await;
    run(&house, &["settings", "set", "core.model.max_tokens", "100"]).await;
    insta::assert_snapshot!(run(&house, &["settings", "list", "core.model.m"]).await.shown(&house), @r"
    core.model  VALUE                DESCRIPTION
    max_tokens  100 tokens  changed  The longest answer asked of a model
    --- exit code 0
    ");
    insta::assert_snapshot!(run(&house, &["settings", "list", "core.gateway"]).await.shown(&house), @r"
    core.gateway  VALUE              DESCRIPTION
    body_bytes    1048576 bytes      The largest request body the API reads
    connections   256 connections    How many connections are held at once over TCP, and as many over the socket
    listen        127.0.0.1:8686     Where the API listens (restarts the daemon)
    streams       128 streams        How many streams, chats and connections to plugins may be open at once over TCP, and as many over the socket
    --- exit code 0
    ");
    insta::assert_snapshot!(run(&house, &["settings", "list", "corn"]).await.shown(&house), @r#"
    no setting begins with "corn"
    --- exit code 0
    "#);
    let all = run(&house, &["settings"]).await.shown(&house);
    for group in ["core.agent ", "core.gateway ", "core.log ", "core.model ", "core.plugin "] {
        assert!(all.lines().any(|line| line.starts_with(group)), "{group} has no heading in\n{all}");
    }
    let json = run(&house, &["settings", "list", "core.model.m", "--json"]).await.json();
    assert_eq!(json.as_array().map(Vec::len), Some(1));
}

#[tokio::test(flavor = "multi_thread")]
async fn settings_go_into_a_file_and_come_back() {
    let house = House::open().await;
    let file = house.home.path().join("settings.toml");
    let file = file.to_str().unwrap();
    run(&house, &["settings", "set", "core.agent.rounds", "7"]).await;
    insta::assert_snapshot!(run(&house, &["settings", "export"]).await.shown(&house), @r"
    # Settings of homed. `waiter settings import FILE` reads this back.

    [core.agent]
    rounds = 7
    --- exit code 0
    ");
    assert_eq!(run(&house, &["settings", "export", file]).await.code, 0);
    run(&house, &["settings", "unset", "core.agent.rounds"]).await;
    std::fs::write(file, std::fs::read_to_string(file).unwrap() + "[core.gateway]\nlisten = \"127.0.0.1:1\"\n")
        .unwrap();
    insta::assert_snapshot!(run(&house, &["settings", "import", file, "--dry-run"]).await.shown(&house), @r"
    core.agent.rounds would be 7, and is 10
    core.gateway.listen would be 127.0.0.1:1, and is 127.0.0.1:8686; it takes effect when the daemon restarts
    --- exit code 0
    ");
    assert_eq!(house.settings.integer("core.agent.rounds").unwrap(), 10);
    insta::assert_snapshot!(run(&house, &["settings", "import", file]).await.shown(&house), @r"
    core.agent.rounds is 7, and was 10
    core.gateway.listen is 127.0.0.1:1, and was 127.0.0.1:8686; it takes effect when the daemon restarts
    --- exit code 0
    ");
    insta::assert_snapshot!(run(&house, &["settings", "import", file]).await.shown(&house), @r"
    2 already as the document says
    --- exit code 0
    ");
    assert_eq!(house.settings.integer("core.agent.rounds").unwrap(), 7);

    std::fs::write(file, "[core.agent]\nround = 1\n\nturn_seconds = 0\n").unwrap();
    insta::assert_snapshot!(run(&house, &["settings", "import", file]).await.shown(&house), @r#"
    --- stderr
    the document has 2 faults; nothing was changed
    line 2: there is no setting "core.agent.round"; did you mean "core.agent.rounds"?
    line 4: "core.agent.turn_seconds" can't be 0: allowed is a time from 1 s to 86400 s, such as 1 or "10s"
    --- exit code 1
    "#);
    let json = run(&house, &["settings", "import", file, "--json"]).await.json();
    assert_eq!(json["errors"][1]["line"], 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_named_before_the_command_is_used_or_refused() {
    let house = House::open().await;
    for (args, conversation) in [
        (&["--conversation", "work", "send", "hello"][..], "api:work"),
        (&["send", "hello", "--conversation", "work"], "api:work"),
        (&["--conversation", "work", "send", "--conversation", "home", "hello"], "api:home"),
        (&["send", "hello"], "api:owner"),
    ] {
        assert_eq!(run(&house, args).await.code, 0, "{args:?}");
        let asked = house.turns.asked.lock().unwrap().pop().unwrap();
        assert_eq!(asked.conversation.to_string(), conversation, "{args:?}");
    }
    for command in ["status", "tools", "plugin", "source", "settings", "owner", "questions", "runs", "stop"] {
        let outcome = run(&house, &["--conversation", "work", command]).await;
        assert_eq!(outcome.code, 2, "{command}: {}", outcome.stdout);
        assert!(outcome.stderr.contains("--conversation"), "{command}: {}", outcome.stderr);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn accounts_get_roles_and_lose_them() {
    let house = House::open().await;
    insta::assert_snapshot!(run(&house, &["owner"]).await.shown(&house), @r"
    no account has a role; `waiter owner pair` makes one yours
    --- exit code 0
    ");
    insta::assert_snapshot!(run(&house, &["owner", "bind", "qq", "a/b", "member"]).await.shown(&house), @r"
    a/b on qq is member
    --- exit code 0
    ");
    insta::assert_snapshot!(run(&house, &["owner", "list"]).await.shown(&house), @r"
    CHANNEL  ACCOUNT  ROLE
    qq       a/b      member
    --- exit code 0
    ");
    insta::assert_snapshot!(run(&house, &["owner", "unbind", "qq", "a/b"]).await.shown(&house), @r"
    a/b on qq is a guest
    --- exit code 0
    ");
    insta::assert_snapshot!(run(&house, &["owner", "unbind", "qq", "a/b"]).await.shown(&house), @r#"
    --- stderr
    the account "a/b" of the channel "qq" has no role
    --- exit code 1
    "#);
    assert_eq!(run(&house, &["owner", "bind", "qq", "1", "king"]).await.code, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pairing_tells_the_code_and_whom_it_paired() {
    let house = House::open().await;
    insta::assert_snapshot!(run(&house, &["owner", "pair"]).await.shown(&house), @r"
    code: AB23CD45

    Send this code to the agent, alone and in private, from the account that is to be yours.
    It counts once, for 10 minutes.
    paired: 10001 (Ada␛[2J) on qq is the owner's
    --- exit code 0
    ");
    let shown = run(&house, &["owner", "pair", "--no-wait"]).await.shown(&house);
    assert!(shown.contains("AB23CD45") && !shown.contains("paired"), "{shown}");
    assert_eq!(run(&house, &["--json", "owner", "pair", "--no-wait"]).await.json()["code"], "AB23CD45");
    let paired = run(&house, &["--json", "owner", "pair"]).await;
    assert_eq!(paired.json()["user"], "10001");
    assert!(paired.stderr.contains("AB23CD45"), "people read the code there");
}

#[tokio::test(flavor = "multi_thread")]
async fn questions_are_listed_and_answered() {
    let house = House::open().await;
    insta::assert_snapshot!(run(&house, &["questions"]).await.shown(&house), @r#"
    3: may the tool qq_kick run?
      arguments: {"user":"10001"}
      asked for by Ada (qq:10002) in qq:group/7. Your settings want you to be asked about it.
      `waiter questions allow 3` lets it run, `waiter questions deny 3` does not
    --- exit code 0
    "#);
    insta::assert_snapshot!(run(&house, &["questions", "allow", "3"]).await.shown(&house), @r"
    qq_kick runs
    --- exit code 0
    ");
    insta::assert_snapshot!(run(&house, &["questions", "deny", "4"]).await.shown(&house), @r"
    --- stderr
    no question 4 waits
    hint: `waiter questions` lists those that do
    --- exit code 1
    ");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_that_the_api_uses_for_something_else_is_refused_in_words() {
    let house = House::open().await;
    let outcome = run(&house, &["source", "add", "offers", "--adapter", "parrot"]).await;
    assert_eq!(outcome.code, 1);
    assert!(outcome.stderr.contains("choose another"), "{}", outcome.stderr);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_script_gets_of_a_setting_it_can_set() {
    let house = House::open().await;
    let (groups, note) = ("plugin.tea.groups", "plugin.tea.note");
    let declared = vec![
        Declaration::new(groups, Kind::List, json!([]), "Groups"),
        Declaration::new(note, Kind::Text, json!(""), "A note"),
    ];
    house.settings.declare_plugin("tea", declared).unwrap();
    for (key, value) in [
        (groups, json!(["one, two", "three"])),
        (groups, json!([])),
        (note, json!("  two\n\tlines, and more")),
        (note, json!("[no list]")),
    ] {
        house.settings.set(key, value.clone()).unwrap();
        let got = run(&house, &["settings", "get", key]).await;
        house.settings.unset(key).unwrap();
        // As a shell puts it in.
        let text = got.stdout.trim_end_matches('\n');
        assert_eq!(run(&house, &["settings", "set", key, text]).await.code, 0);
        assert_eq!(house.settings.get(key).unwrap(), value);
    }
    // What a terminal would obey is in the document, which is read by no terminal here.
    let hidden = json!("left\u{200e}right\u{2060}");
    house.settings.set(note, hidden.clone()).unwrap();
    let document = run(&house, &["settings", "export"]).await.stdout;
    house.settings.unset(note).unwrap();
    assert_eq!(run_with(&house, &["settings", "import", "-"], &document).await.code, 0);
    assert_eq!(house.settings.get(note).unwrap(), hidden);
}

#[tokio::test(flavor = "multi_thread")]
async fn no_file_is_read_further_than_the_daemon_takes_it() {
    let house = House::open().await;
    for command in [["settings", "import", "/dev/zero"].as_slice(), &["adapter", "try", "parrot", "/dev/zero"]] {
        let shown = run(&house, command).await.shown(&house);
        assert!(shown.contains("/dev/zero holds more than the") && shown.ends_with("--- exit code 1"), "{shown}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_can_not_be_written_is_a_failure() {
    let house = House::open().await;
    for command in [["settings", "export"].as_slice(), &["--json", "runs", "list"], &["settings", "list"]] {
        let mut waiter = std::process::Command::new(env!("CARGO_BIN_EXE_waiter"));
        waiter.arg("--home").arg(house.home.path()).args(command);
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let ended = tokio::task::spawn_blocking(move || waiter.stdout(full).output().unwrap()).await.unwrap();
        let said = String::from_utf8(ended.stderr).unwrap();
        assert_eq!(ended.status.code(), Some(1), "{command:?}");
        assert!(said.contains("could not be written to stdout"), "{said}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn media_are_handed_over_listed_saved_and_removed() {
    let house = House::open().await;
    insta::assert_snapshot!(run(&house, &["media"]).await.shown(&house), @r"
    nothing is kept
    --- exit code 0
    ");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("note.txt").display().to_string();
    std::fs::write(&file, "a note").unwrap();
    insta::assert_snapshot!(run(&house, &["media", "add", &file]).await.shown(&house), @r"
    f63e34a034f19a24438f2d74b242bc96682abd843ecc4ea63fefed4006d860a3 text/plain 6 B
    --- exit code 0
    ");
    let listed = run(&house, &["media", "list"]).await.shown(&house);
    assert!(
        listed.starts_with("ADDRESS           TYPE        SIZE  USED\nf63e34a034f19a24  text/plain  6 B   20"),
        "{listed}"
    );
    assert!(listed.contains("\n6 B together\n"), "{listed}");
    let saved = folder.path().join("saved.txt").display().to_string();
    let get = ["media", "get", "media:f63e34a034f19a24", "--output", &saved];
    assert_eq!(run(&house, &get).await.code, 0);
    assert_eq!(std::fs::read(&saved).unwrap(), b"a note");
    let again = run(&house, &get).await;
    assert_eq!(again.code, 1, "what is there is not written over");
    insta::assert_snapshot!(run(&house, &["media", "remove", "f63e34a034f19a24"]).await.shown(&house), @r"
    f63e34a034f19a24438f2d74b242bc96682abd843ecc4ea63fefed4006d860a3 is removed
    --- exit code 0
    ");
    insta::assert_snapshot!(run(&house, &["media", "get", "f63e34a034f19a24"]).await.shown(&house), @r"
    --- stderr
    the medium: it is not kept, or not any more
    --- exit code 1
    ");
}

#[tokio::test(flavor = "multi_thread")]
async fn files_go_along_with_what_is_said() {
    let house = House::open().await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("note.txt").display().to_string();
    std::fs::write(&file, "a note").unwrap();
    assert_eq!(run(&house, &["send", "--attach", &file, "read this"]).await.code, 0);
    let asked = house.turns.asked.lock().unwrap().pop().unwrap();
    assert_eq!((asked.media.len(), asked.media[0].name.as_deref()), (1, Some("note.txt")));
    assert_eq!(run(&house, &["send", "--attach", &file]).await.code, 0, "words are not needed");
    assert_eq!(run(&house, &["send", "--attach", "/nothing", "x"]).await.code, 1);
}
