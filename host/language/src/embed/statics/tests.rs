#![allow(clippy::unwrap_used, reason = "a test that can't go on is to fail there")]

use std::fs;
use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use proptest::prelude::*;

use super::super::{Embedder as _, Purpose};
use super::*;

const FASTTEXT: &str = "7 3\nthe 0.1 0.1 0.1\ncat 1.0 0.0 0.1\ndog 0.9 0.1 0.2\ncar 0.0 1.0 0.0\n猫 0.95 0.05 0.1\n\
                        汽车 0.05 0.9 0.0\nbuild 0.0 0.1 1.0\n";
const NUMBERBATCH: &str = "5 2\n/c/de/katze 0.3 0.3\n/c/en/car 0.0 1.0\n/c/en/new_york 1.0 1.0\n/c/zh/猫 1.0 0.0\n\
                           /c/zh/車 0.1 1.0\n";

fn folder(file: &str, bytes: &[u8]) -> (tempfile::TempDir, StaticVectors) {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join(file), bytes).unwrap();
    let found = StaticVectors::all_in(folder.path());
    assert_eq!(found.len(), 1, "{found:?}");
    (folder, found.into_iter().next().unwrap())
}

fn packed(text: &str) -> Vec<u8> {
    let mut packer = GzEncoder::new(Vec::new(), Compression::fast());
    packer.write_all(text.as_bytes()).unwrap();
    packer.finish().unwrap()
}

async fn vectors(pool: &Pool, texts: &[&str]) -> Vec<Vec<f32>> {
    pool.embed(Purpose::Passage, texts.iter().map(|text| (*text).to_owned()).collect()).await.unwrap()
}

fn cosine(one: &[f32], other: &[f32]) -> f32 {
    one.iter().zip(other).map(|(a, b)| a * b).sum()
}

#[tokio::test]
async fn words_of_one_meaning_are_near_in_both_languages_and_unknown_ones_by_their_parts() {
    for (file, bytes) in [("words.vec", FASTTEXT.as_bytes().to_vec()), ("words.vec.gz", packed(FASTTEXT))] {
        let (_folder, found) = folder(file, &bytes);
        let pool = found.open().unwrap();
        assert_eq!((pool.identity().name.as_str(), pool.identity().dimensions), ("words", 3));
        let made = vectors(&pool, &["the cat", "小猫", "汽车", "builder", "zzz", ""]).await;
        assert!(cosine(&made[0], &made[1]) > 0.98, "a kitten is a cat by its character");
        assert!(cosine(&made[0], &made[2]) < 0.3);
        assert!(made[3][2] > 0.9, "a builder builds");
        assert_eq!(made[4], [0.0; 3]);
        assert_eq!(made[5], [0.0; 3]);
    }
}

#[tokio::test]
async fn concepts_are_words_and_phrases_of_the_two_languages() {
    let (_folder, found) = folder("numberbatch.txt.gz", &packed(NUMBERBATCH));
    let made = vectors(&found.open().unwrap(), &["New York", "猫", "katze", "Car"]).await;
    assert!((made[0][0] - made[0][1]).abs() < 0.01 && made[0][0] > 0.7);
    assert!(made[1][0] > 0.99 && made[3][1] > 0.99);
    assert_eq!(made[2], [0.0, 0.0]);
}

#[test]
fn a_table_is_made_once_and_anew_when_its_file_has_changed() {
    let (folder, found) = folder("words.vec", FASTTEXT.as_bytes());
    let first = found.open().unwrap().identity().clone();
    let table = folder.path().join("words.vectors");
    let made = fs::metadata(&table).unwrap().modified().unwrap();
    assert_eq!(found.open().unwrap().identity(), &first);
    assert_eq!(fs::metadata(&table).unwrap().modified().unwrap(), made);

    let text = folder.path().join("words.vec");
    fs::write(&text, FASTTEXT.replace("cat 1.0", "cat 0.5")).unwrap();
    // Nobody edits a file within the tick of the file system's clock.
    let file = fs::File::options().write(true).open(&text).unwrap();
    file.set_modified(made + std::time::Duration::from_secs(2)).unwrap();
    assert_ne!(found.open().unwrap().identity(), &first);
    // The text may go when the table is there.
    fs::remove_file(text).unwrap();
    assert_eq!(StaticVectors::all_in(folder.path()).len(), 1);
    StaticVectors::of(&table).unwrap().open().unwrap();
}

#[tokio::test]
async fn a_damaged_table_is_made_anew() {
    let (folder, found) = folder("words.vec", FASTTEXT.as_bytes());
    found.open().unwrap();
    let path = folder.path().join("words.vectors");
    let whole = fs::read(&path).unwrap();
    // In its index, or cut off: noticed when it is opened.
    for damaged in [whole[..whole.len() - 7].to_vec(), [&whole[..whole.len() - 1], &[!whole[whole.len() - 1]]].concat()]
    {
        fs::write(&path, damaged).unwrap();
        found.open().unwrap();
        assert_eq!(fs::read(&path).unwrap(), whole);
    }
    // In a row: noticed when the word is looked up; the next one who opens it makes it anew.
    let mut damaged = whole.clone();
    damaged[table::HEADER + 3] ^= 0x40;
    fs::write(&path, damaged).unwrap();
    let pool = found.open().unwrap();
    let error = pool.embed(Purpose::Query, vec!["cat".to_owned()]).await.unwrap_err();
    assert!(error.to_string().contains("damaged"), "{error}");
    let made = vectors(&found.open().unwrap(), &["cat"]).await;
    assert!(made[0][0] > 0.9);
    assert_eq!(fs::read(&path).unwrap(), whole);
}

#[test]
fn what_is_no_file_of_vectors_is_refused_and_leaves_nothing() {
    for text in ["", "only words here\nand here\n", "/c/de/katze 0.1 0.2\n"] {
        let (folder, found) = folder("words.txt", text.as_bytes());
        let Err(error) = found.open() else { panic!("{text:?} was taken") };
        assert!(error.to_string().contains("words.txt"), "{error}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "{text:?}");
    }
}

proptest! {
    #[test]
    fn any_bytes_are_a_table_or_a_refusal(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let (folder, found) = folder("words.vec", FASTTEXT.as_bytes());
        let _ = folder;
        fs::write(folder.path().join("words.vectors"), bytes).unwrap();
        prop_assert!(found.open().is_ok());
    }
}
