//! What models cost, as the command line shows it.

use crate::house::House;
use crate::program::run;

#[tokio::test(flavor = "multi_thread")]
async fn costs_are_shown_by_what_one_wants_to_know() {
    let house = House::open().await;
    insta::assert_snapshot!(run(&house, &["cost", "--by", "model", "--since", "2026-11-01"]).await.shown(&house), @r"
    no model was asked since 2026-11-01
    --- exit code 0
    ");
    house.spend();
    insta::assert_snapshot!(run(&house, &["cost", "--by", "model"]).await.shown(&house), @r"
    MODEL           CALLS  INPUT  CACHED  OUTPUT  COST
    deepseek-flash  2      2000   800     100     4.502 USD
    qwen-plus       1      1000   400     50      0.00003 CNY
    unheard-of      1      1000   400     50      -
    together        4      4000   1600    200     0.00003 CNY + 4.502 USD
    days of Asia/Shanghai
    calls whose tokens are estimated: 1
    calls without a known price, of which tokens alone count: 1; `waiter cost price set` sets one
    core.cost.day: 4.50 USD of 5.00 USD until 2026-11-30
    core.cost.day: 0.00003 CNY of 35.00 CNY until 2026-11-30
    --- exit code 0
    ");
    let november = ["cost", "--by", "plugin", "--since", "2026-11-01", "--until", "2026-11-30"];
    insta::assert_snapshot!(run(&house, &november).await.shown(&house), @r"
    PLUGIN    CALLS  INPUT  CACHED  OUTPUT  COST
    -         2      2000   800     100     4.50 USD
    diary     1      1000   400     50      0.00003 CNY
    together  3      3000   1200    150     0.00003 CNY + 4.50 USD
    days of Asia/Shanghai from 2026-11-01 to 2026-11-30
    calls whose tokens are estimated: 1
    calls without a known price, of which tokens alone count: 1; `waiter cost price set` sets one
    core.cost.day: 4.50 USD of 5.00 USD until 2026-11-30
    core.cost.day: 0.00003 CNY of 35.00 CNY until 2026-11-30
    --- exit code 0
    ");
    let days = run(&house, &["cost", "--since", "2026-11-01"]).await.stdout;
    assert!(days.contains("\n2026-11-30  3 ") && !days.contains("together"), "{days}");
    let json = run(&house, &["cost", "--by", "month", "--json"]).await.json();
    assert_eq!((json["lines"][0]["key"].as_str(), json["lines"][1]["calls"].as_u64()), (Some("2026-10"), Some(3)));
    let soon = run(&house, &["cost", "--since", "soon"]).await;
    assert!(soon.code == 1 && soon.stderr.contains("can't be read"), "{}", soon.stderr);
    assert_eq!(run(&house, &["cost", "--by", "weather"]).await.code, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn prices_are_set_listed_and_taken_away() {
    let house = House::open().await;
    let urls =
        [("main", "https://api.deepseek.com"), ("home", "http://localhost:8080/v1"), ("far", "https://llm.example")];
    for (name, url) in urls {
        let add = ["source", "add", name, "--adapter", "vendor", "--base-url", url, "--model", "deepseek-flash"];
        assert_eq!(run(&house, &add).await.code, 0);
    }
    #[rustfmt::skip]
    let set = [
        "cost", "price", "set", "deepseek-*", "--currency", "CNY", "--input", "2", "--cached", "0.04", "--output", "8",
        "--source", "far", "--from", "2026-11-01", "--time-zone", "Asia/Shanghai",
        "--band", "18:00-09:00 mon-fri input=1 output=4", "--band", "above=200000 input=3 output=9",
    ];
    let listed = run(&house, &set).await.stdout;
    // It is noon in Shanghai, where the peak has just ended.
    for line in [
        "main    deepseek-flash  USD, built-in  0.15   0.003   as input  0.60\n",
        "home    deepseek-flash  free\n",
        "far     deepseek-flash  CNY, own       2.00   0.04    as input  8.00\n",
        "  18:00-09:00 mon,tue,wed,thu,fri Asia/Shanghai  CNY       1.00   as input  as input  4.00\n",
        "  above=200000                                   CNY       3.00   as input  as input  9.00\n",
        "built in, as of 2026-",
    ] {
        assert!(listed.contains(line), "{line:?} is missing in\n{listed}");
    }
    let all = run(&house, &["cost", "price", "list", "--all"]).await.stdout;
    assert!(all.contains("gpt-6-luna*") && all.contains("api.openai.com"), "{all}");
    let wrong = ["cost", "price", "set", "m", "--currency", "yuan", "--input", "1", "--output", "1"];
    insta::assert_snapshot!(run(&house, &wrong).await.shown(&house), @r#"
    --- stderr
    the price of "m" can't be used: "yuan" is no currency; write it as USD, EUR or CNY
    --- exit code 1
    "#);
    let remove = ["cost", "price", "remove", "deepseek-*", "--source", "far"];
    assert!(run(&house, &remove).await.stdout.contains("far     deepseek-flash  unknown\n"));
    insta::assert_snapshot!(run(&house, &remove).await.shown(&house), @r#"
    --- stderr
    no price is set for "deepseek-*" at the source "far" for any day
    hint: `waiter cost price` shows all that are set
    --- exit code 1
    "#);
}
