//! Packages that can't be loaded, and compiled code on disk.

use homeagent_types::ports::{Haste, PluginAdmin};

use crate::house;

#[tokio::test]
async fn every_refused_package_is_listed_with_its_reason_and_the_others_run() {
    let house = house::empty();
    house.install("counter-one", "good");
    let faults = [
        ("no-manifest", None, "plugin.toml"),
        ("not-toml", Some("[plugin"), "not valid"),
        ("typo", Some("[plugin]\nname='typo'\nversion='1'\ncomponent='x.wasm'\n[wnats.tools]\n"), "wnats"),
        ("no-file", Some("[plugin]\nname='no-file'\nversion='1'\ncomponent='x.wasm'\n"), "x.wasm"),
    ];
    for (name, manifest, _) in faults {
        let folder = house.plugins().join(name);
        std::fs::create_dir_all(&folder).expect("a folder");
        if let Some(text) = manifest {
            std::fs::write(folder.join("plugin.toml"), text).expect("a file");
        }
    }
    house.runtime.load_all().await;
    let all = house.runtime.list();
    for (name, _, words) in faults {
        let status = all.iter().find(|status| status.name == name).expect("it is listed");
        assert_eq!(status.state, "refused");
        assert!(status.reason.as_deref().is_some_and(|reason| reason.contains(words)), "{status:?}");
    }
    assert_eq!(house.state("counter"), "live");
}

#[tokio::test]
async fn a_component_that_calls_itself_otherwise_than_its_manifest_is_refused() {
    let house = house::empty();
    house.install("counter-one", "counter");
    let folder = house.install("counter-one", "other");
    let manifest = std::fs::read_to_string(folder.join("plugin.toml")).expect("it is installed");
    std::fs::write(folder.join("plugin.toml"), manifest.replace("\"counter\"", "\"other\"")).expect("a file");
    house.runtime.load_all().await;
    let all = house.runtime.list();
    let other = all.iter().find(|status| status.name == "other").expect("it is listed");
    assert_eq!(other.state, "refused");
    assert!(other.reason.as_deref().is_some_and(|it| it.contains("other") && it.contains("counter")), "{other:?}");
}

#[tokio::test]
async fn damaged_and_foreign_compiled_code_is_compiled_anew() {
    let house = house::with(&["counter-one"]).await;
    let cache = house.folder.path().join("cache");
    let entry = std::fs::read_dir(&cache)
        .expect("there is a cache")
        .map(|entry| entry.expect("it can be listed").path())
        .find(|path| path.extension().is_some_and(|extension| extension == "cwasm"))
        .expect("the guest was compiled");
    let good = std::fs::read(&entry).expect("it can be read");
    let mut flipped = good.clone();
    let middle = flipped.len() / 2;
    flipped[middle] ^= 1;
    for bytes in [flipped, good[..100].to_vec(), Vec::new(), good[32..].to_vec()] {
        std::fs::write(&entry, &bytes).expect("the cache takes files");
        house.runtime.reload("counter", Haste::default()).await.expect("the component itself is good");
        assert_eq!(house.call("counter", "count", "{}").await, Ok("1".into()));
        assert_eq!(std::fs::read(&entry).expect("it is there again").len(), good.len());
    }
}

#[tokio::test]
async fn compiled_code_and_its_key_are_for_the_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let house = house::with(&["counter-one"]).await;
    let cache = house.folder.path().join("cache");
    let mode = |path: &std::path::Path| std::fs::metadata(path).expect("it is there").permissions().mode() & 0o777;
    assert_eq!(mode(&cache), 0o700);
    for entry in std::fs::read_dir(&cache).expect("it can be listed") {
        assert_eq!(mode(&entry.expect("an entry").path()), 0o600);
    }
}

#[tokio::test]
async fn a_folder_of_packages_that_can_t_be_read_is_said_to_be_that() {
    let house = house::empty();
    std::fs::write(house.plugins(), "no folder").expect("a file");
    let refused = house.runtime.reload("counter", Haste::default()).await.expect_err("nothing is there").to_string();
    assert!(refused.contains("can't be read") && refused.contains("plugins"), "{refused}");
}

#[tokio::test]
async fn a_component_that_is_too_large_is_said_to_be_that() {
    let house = house::empty();
    let component = house.install("counter-one", "counter").join("guest_counter_one.wasm");
    let file = std::fs::OpenOptions::new().write(true).open(component).expect("it is installed");
    file.set_len((64 << 20) + 1).expect("a file with a hole");
    let refused = house.runtime.reload("counter", Haste::default()).await.expect_err("too large").to_string();
    assert!(refused.contains("more than 67108864 bytes") && !refused.contains("wasm32"), "{refused}");
}

#[tokio::test]
async fn a_refused_package_is_forgotten_with_its_folder_or_its_fault() {
    let house = house::empty();
    let mended = house.install("counter-one", "mended").join("plugin.toml");
    let good = std::fs::read_to_string(&mended).expect("it is installed");
    let deleted = house.plugins().join("deleted");
    std::fs::create_dir_all(&deleted).expect("a folder");
    for folder in [&mended, &deleted.join("plugin.toml")] {
        std::fs::write(folder, "[plugin").expect("a file");
    }
    house.runtime.load_all().await;
    assert_eq!([house.state("mended"), house.state("deleted")], ["refused", "refused"]);
    std::fs::write(&mended, good).expect("a file");
    std::fs::remove_dir_all(&deleted).expect("its own folder");
    house.runtime.load("counter").await.expect("it is mended, and says its own name");
    let names: Vec<_> = house.runtime.list().into_iter().map(|status| status.name).collect();
    assert_eq!(names, ["counter"]);
}
