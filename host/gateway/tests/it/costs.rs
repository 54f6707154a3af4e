//! What models cost, as the API tells it.

use hyper::Method;
use serde_json::json;

use crate::house::House;

#[tokio::test]
async fn costs_are_told_by_what_one_wants_to_know_and_never_across_currencies() {
    let house = House::open().await;
    house.spend();
    let all = house.local(Method::GET, "/api/v1/costs?by=model", "").await.ok();
    let line = |model: &str| all["lines"].as_array().unwrap().iter().find(|line| line["key"] == model).unwrap().clone();
    assert_eq!(line("deepseek-flash")["cost"], json!({ "USD": "4.502" }));
    assert_eq!(line("qwen-plus")["cost"], json!({ "CNY": "0.00003" }));
    assert_eq!((line("qwen-plus")["estimated"].clone(), line("unheard-of")["unpriced"].clone()), (json!(1), json!(1)));
    assert_eq!(all["total"]["cost"], json!({ "CNY": "0.00003", "USD": "4.502" }));
    assert_eq!((all["total"]["input"].clone(), all["total"]["cached"].clone()), (json!(4_000), json!(1_600)));
    assert_eq!(all["time_zone"], "Asia/Shanghai");
    let limits = all["limits"].as_array().unwrap();
    let usd = limits.iter().find(|limit| limit["setting"] == "core.cost.day" && limit["most"] == "5.00 USD").unwrap();
    assert_eq!((&usd["spent"], &usd["since"], &usd["role"]), (&json!("4.50 USD"), &json!("2026-11-30"), &json!(null)));

    let today = house.local(Method::GET, "/api/v1/costs?by=plugin&since=2026-11-01&until=2026-11-30", "").await.ok();
    let keys: Vec<_> = today["lines"].as_array().unwrap().iter().map(|line| line["key"].clone()).collect();
    assert_eq!((keys, today["total"]["calls"].clone()), (vec![json!(""), json!("diary")], json!(3)));
    assert_eq!(house.local(Method::GET, "/api/v1/costs?run=run-2", "").await.ok()["total"]["calls"], 0);
    house.local(Method::GET, "/api/v1/costs?by=weather", "").await.problem(400);
    house.local(Method::GET, "/api/v1/costs?since=yesterday", "").await.problem(400);

    let status = house.local(Method::GET, "/api/v1/status", "").await.ok();
    let cost = json!({
        "day": "2026-11-30", "input": 3_000, "output": 150, "cost": { "CNY": "0.00003", "USD": "4.50" },
    });
    assert_eq!(status["cost"], cost);
    let metrics = house.local(Method::GET, "/metrics", "").await;
    for line in [
        "homeagent_cost_today{currency=\"USD\"} 4.50",
        "homeagent_cost_today{currency=\"CNY\"} 0.00003",
        "homeagent_cost_tokens_today{direction=\"input\"} 3000",
    ] {
        assert!(metrics.body.contains(line), "{}", metrics.body);
    }
}

#[tokio::test]
async fn prices_are_set_and_taken_away_while_the_daemon_runs() {
    let house = House::open().await;
    let source = r#"{"adapter":"vendor","base_url":"https://api.deepseek.com","model":"deepseek-flash"}"#;
    house.local(Method::PUT, "/api/v1/sources/main", source).await.ok();
    let source = r#"{"adapter":"vendor","base_url":"http://127.0.0.1:8080/v1","model":"deepseek-flash"}"#;
    house.local(Method::PUT, "/api/v1/sources/home", source).await.ok();
    let prices = house.local(Method::GET, "/api/v1/prices", "").await.ok();
    assert_eq!(
        (&prices["sources"][0]["price"], &prices["sources"][0]["currency"]),
        (&json!("built-in"), &json!("USD"))
    );
    assert_eq!((&prices["sources"][1]["price"], &prices["sources"][1]["rates"]), (&json!("free"), &json!(null)));
    assert_eq!(prices["own"], json!([]));

    let own = json!({
        "model": "deepseek-*", "valid_from": "2026-11-30", "currency": "CNY",
        "rates": { "input": "1", "cached": "0.02", "output": "4" },
    });
    let prices = house.local(Method::PUT, "/api/v1/prices", own.to_string()).await.ok();
    assert_eq!((&prices["sources"][0]["price"], &prices["sources"][0]["currency"]), (&json!("own"), &json!("CNY")));
    assert_eq!(prices["sources"][0]["rates"], json!({ "input": "1.00", "cached": "0.02", "output": "4.00" }));
    assert_eq!(prices["sources"][1]["price"], "free");
    for wrong in [
        json!({ "currency": "yuan" }),
        json!({ "rates": { "input": 1, "output": "4" } }),
        json!({ "rates": { "input": "1", "output": "4", "cachd": "1" } }),
        json!({ "valid_from": "soon" }),
    ] {
        let mut price = own.clone();
        price.as_object_mut().unwrap().extend(wrong.as_object().unwrap().clone());
        house.local(Method::PUT, "/api/v1/prices", price.to_string()).await.problem(422);
    }
    house.local(Method::DELETE, "/api/v1/prices?model=other", "").await.problem(404);
    let prices = house.local(Method::DELETE, "/api/v1/prices?model=deepseek-*&valid_from=2026-11-30", "").await.ok();
    assert_eq!(prices["sources"][0]["price"], "built-in");
}
