#![allow(clippy::unwrap_used, reason = "a test that can't go on is to fail there")]

use std::fs;

use homeagent_settings::{Database, Secrets};

use super::*;

fn local(home: &Path) -> LocalModels {
    let database = Database::open(home.join("homeagent.db")).unwrap();
    let secrets = Secrets::open(&database, home).unwrap();
    let settings = Settings::open(&database, &secrets).unwrap();
    let sources = Sources::open(&database).unwrap();
    LocalModels::start(Parts { home: home.to_owned(), settings, sources, network: None })
}

async fn used(models: &LocalModels, kind: &str) {
    let mut current = models.current();
    current.wait_for(|it| it.as_ref().is_some_and(|it| it.identity().kind == kind)).await.unwrap();
}

#[tokio::test]
async fn word_vectors_are_installed_used_and_left_without_a_restart() {
    let home = tempfile::tempdir().unwrap();
    let models = local(home.path());
    used(&models, "tf-idf").await;
    let file = home.path().join("small.vec");
    fs::write(&file, "猫 1 0\ncat 0.9 0.1\ncar 0 1\n").unwrap();
    let installed = models.install(file.to_str().unwrap()).await.unwrap();
    assert_eq!((installed.name.as_str(), installed.files[0].bytes), ("small", 28));
    used(&models, "static").await;
    let trial = models.try_texts("猫".to_owned(), Some("cat".to_owned())).await.unwrap();
    assert_eq!((trial.dimensions, trial.took_ms.len()), (2, 2));
    assert!(trial.similarity.unwrap() > 0.98);

    models.choose(Some("tf-idf")).await.unwrap();
    used(&models, "tf-idf").await;
    let names: Vec<String> = models.list().await.embedders.into_iter().map(|it| it.name).collect();
    assert_eq!(names, ["source", "small", "tf-idf"]);
    models.choose(None).await.unwrap();
    used(&models, "static").await;
    let again = models.install(file.to_str().unwrap()).await.unwrap_err();
    assert!(again.to_string().contains("is there already"), "{again}");
}

#[tokio::test]
async fn what_a_death_left_of_a_model_is_none_and_in_nobodys_way() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("models");
    fs::create_dir_all(folder.join(".small-e5.partial")).unwrap();
    fs::write(folder.join(".small-e5.partial/model.onnx"), "half").unwrap();
    fs::write(folder.join(".small.partial"), "猫 1 0\nca").unwrap();
    let models = local(home.path());
    used(&models, "tf-idf").await;
    let names: Vec<String> = models.list().await.embedders.into_iter().map(|it| it.name).collect();
    assert_eq!(names, ["source", "tf-idf"]);
    let file = home.path().join("small.vec");
    fs::write(&file, "猫 1 0\ncat 0.9 0.1\ncar 0 1\n").unwrap();
    models.install(file.to_str().unwrap()).await.unwrap();
    used(&models, "static").await;
    assert!(!folder.join(".small.partial").exists());
}

#[tokio::test]
async fn what_is_no_model_is_refused_in_words_and_leaves_nothing() {
    let home = tempfile::tempdir().unwrap();
    let models = local(home.path());
    let folder = home.path().join("mine");
    fs::create_dir(&folder).unwrap();
    let missing = models.install(folder.to_str().unwrap()).await.unwrap_err().to_string();
    assert!(missing.contains("mine/model.onnx is missing"), "{missing}");
    for file in ["model.onnx", "tokenizer.json", "config.json", "special_tokens_map.json", "tokenizer_config.json"] {
        fs::write(folder.join(file), "{}").unwrap();
    }
    assert!(matches!(models.install(folder.to_str().unwrap()).await, Err(CallError::Invalid(_))));
    assert_eq!(fs::read_dir(home.path().join("models")).unwrap().count(), 0);
    let unknown = models.install("bert").await.unwrap_err().to_string();
    assert!(unknown.contains("multilingual-e5-small"), "{unknown}");
    assert!(matches!(models.install("bge-small-zh-v1.5").await, Err(CallError::Conflict(_))), "there is no network");
    assert!(matches!(models.choose(Some("bert")).await, Err(CallError::NotFound(_))));
}
