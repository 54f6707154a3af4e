//! Vectors.

use homeagent_settings::{SourceLine, SourceRecord};
use homeagent_types::lines::{VectorRequest, Vectors};
use homeagent_types::model::{EmbeddingPurpose, FailureClass};
use homeagent_types::ports::{Models as _, ModelsFailure};
use serde_json::json;

use crate::vendor::{Reply, Vendor, error, json as answers};
use crate::world::{World, cause, hasty};

/// One vector for each number.
fn vectors(numbers: &[f32]) -> Reply {
    let vectors: Vec<_> = numbers.iter().map(|number| [*number, 0.5]).collect();
    answers(200, &json!({"vectors": vectors, "usage": {"input": 3, "output": 0}}).to_string(), Vec::new())
}

fn add(world: &World, name: &str, url: &str, options: &[(&str, &str)]) {
    let options = options.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let record = SourceRecord { line: SourceLine::Embedding, options, ..world.source(name, "vectors", url) };
    world.sources.add(&record).expect("added");
}

async fn embed(world: &World, texts: &[&str], model: Option<&str>) -> Result<Vectors, ModelsFailure> {
    let texts: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
    let request = VectorRequest { texts: &texts, purpose: EmbeddingPurpose::Document, model, cause: &cause() };
    let made = world.providers.embed(request).await;
    assert!(!format!("{made:?}").contains("geheim") && crate::log::leaks().is_empty());
    made
}

#[tokio::test]
async fn texts_go_in_batches_and_vectors_come_in_their_order() {
    let vendor = Vendor::start(vec![vectors(&[1.0, 2.0]), vectors(&[3.0])]).await;
    let world = World::new(hasty());
    add(&world, "a", &vendor.url, &[("batch", "2")]);
    let made = embed(&world, &["x", "y", "z"], None).await.expect("vectors");
    assert_eq!((made.source.as_str(), made.model.as_str(), made.dimensions), ("a", "a-model", 2));
    assert_eq!(made.vectors, [[1.0, 0.5], [2.0, 0.5], [3.0, 0.5]]);
    assert_eq!(made.usage.map(|usage| usage.input), Some(6));
    let requests = vendor.requests();
    assert!(requests[0].contains("[\"x\",\"y\"]") && requests[1].contains("[\"z\"]"), "{requests:?}");
}

#[tokio::test]
async fn one_source_makes_them_all() {
    let first = Vendor::start(vec![vectors(&[1.0]), error(500, "{}")]).await;
    let second = Vendor::start(vec![vectors(&[7.0]), vectors(&[8.0])]).await;
    let world = World::new(homeagent_providers::Policy { attempts: 1, ..hasty() });
    add(&world, "a", &first.url, &[("batch", "1")]);
    add(&world, "b", &second.url, &[("batch", "1")]);
    let made = embed(&world, &["x", "y"], None).await.expect("vectors");
    assert_eq!((made.model.as_str(), made.vectors), ("b-model", vec![vec![7.0, 0.5], vec![8.0, 0.5]]));
}

#[tokio::test]
async fn vectors_of_another_model_are_of_no_use() {
    let vendor = Vendor::start(vec![vectors(&[1.0])]).await;
    let world = World::new(hasty());
    add(&world, "a", "http://127.0.0.1:1", &[]);
    add(&world, "b", &vendor.url, &[]);
    assert_eq!(embed(&world, &["x"], Some("b-model")).await.expect("vectors").source, "b");
    let failure = embed(&world, &["x"], Some("z-model")).await.expect_err("nobody has it");
    assert!(failure.sentence.contains("`z-model`"), "{}", failure.sentence);
}

#[tokio::test]
async fn what_can_not_be_used_is_said() {
    let world = World::new(hasty());
    world.add("main", "http://127.0.0.1:1");
    let failure = embed(&world, &["x"], None).await.expect_err("the main line makes none");
    assert!(failure.sentence.contains("--line embedding"), "{}", failure.sentence);
    let vendor = Vendor::start(vec![vectors(&[1.0, 2.0])]).await;
    add(&world, "a", &vendor.url, &[]);
    let failure = embed(&world, &["x"], None).await.expect_err("two of one text");
    assert_eq!(failure.tried[0].1.class, FailureClass::Protocol);
}

#[tokio::test]
async fn what_an_adapter_says_of_its_own_vendor_goes_for_no_other() {
    let vendor = Vendor::start(vec![vectors(&[0.0; 10]), vectors(&[1.0])]).await;
    let world = World::new(hasty());
    add(&world, "a", &vendor.url, &[]);
    assert_eq!(embed(&world, &["x"; 11], None).await.expect("vectors").vectors.len(), 11);
}

#[tokio::test]
async fn a_test_of_a_source_of_vectors_makes_one() {
    let vendor = Vendor::start(vec![error(401, "{\"error\":\"bad key\"}"), vectors(&[1.0])]).await;
    let world = World::new(hasty());
    add(&world, "a", &vendor.url, &[]);
    let failure = world.providers.test("a").await.expect_err("refused");
    assert!(failure.sentence.contains("bad key"), "{}", failure.sentence);
    assert_eq!(world.standing("a"), homeagent_providers::SourceStanding::Disabled);
    assert_eq!(world.providers.test("a").await.expect("a vector").answer.text, "a vector of 2 numbers");
    assert_eq!(world.standing("a"), homeagent_providers::SourceStanding::Ready);
    assert!(vendor.requests()[1].contains("[\"OK\"]"), "{:?}", vendor.requests());
}
