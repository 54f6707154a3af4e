//! What is packed and signed, and what is made of it by others.

use homeagent_package::{
    ArchiveError, File, MANIFEST, PublicKey, SIGNATURE, SignatureError, SigningKey, pack, sign, unpack, verify,
};
use proptest::prelude::*;

/// The same each time, so that a failure can be looked at again.
fn key(digit: char) -> SigningKey {
    let digits: String = std::iter::repeat_n(digit, 64).collect();
    SigningKey::from_text(&format!("homeagent signing key: {digits}\n")).expect("it is a key")
}

fn file(name: &str, text: &str) -> File {
    File { name: name.to_owned(), bytes: text.as_bytes().to_vec() }
}

fn files() -> Vec<File> {
    vec![file("part.lua", "return 2"), file("main.lua", "return require('part')"), file(MANIFEST, "[plugin]\n")]
}

fn signed() -> Vec<File> {
    let mut files = files();
    files.push(File { name: SIGNATURE.to_owned(), bytes: sign(&files, &key('1')) });
    files
}

/// What a host does with an archive: the files, and by whom they are signed.
fn open(archive: &[u8]) -> Result<(Vec<File>, Option<PublicKey>), String> {
    let mut files = unpack(archive).map_err(|error| error.to_string())?;
    let signature = files.iter().position(|file| file.name == SIGNATURE).map(|at| files.remove(at));
    let publisher = signature.map(|signature| verify(&files, &signature.bytes)).transpose();
    Ok((files, publisher.map_err(|error| error.to_string())?))
}

#[test]
fn what_is_packed_is_unpacked_in_one_order_and_by_the_same_bytes() {
    let archive = pack(&signed()).expect("it can be packed");
    let mut turned = signed();
    turned.reverse();
    assert_eq!(pack(&turned).expect("it can be packed"), archive);
    let (files, publisher) = open(&archive).expect("it is as it was packed");
    let names: Vec<_> = files.iter().map(|file| file.name.as_str()).collect();
    assert_eq!(names, [MANIFEST, "main.lua", "part.lua"]);
    assert_eq!(publisher, Some(key('1').public()));
    assert_eq!(open(&pack(&files).expect("it can be packed")).expect("it is as it was packed").1, None);
}

#[test]
fn a_signed_package_that_is_not_as_it_was_signed_is_refused_with_what_is_not() {
    let signature = sign(&files(), &key('1'));
    let with = |change: &dyn Fn(&mut Vec<File>)| {
        let mut files = files();
        change(&mut files);
        verify(&files, &signature).expect_err("it was changed")
    };
    assert_eq!(with(&|files| drop(files.remove(0))), SignatureError::Missing("part.lua".into()));
    assert_eq!(with(&|files| files.push(file("more.lua", ""))), SignatureError::Extra("more.lua".into()));
    assert_eq!(with(&|files| files[1].bytes[3] ^= 1), SignatureError::Changed("main.lua".into()));
    assert_eq!(with(&|files| files[1].bytes.push(b'\n')), SignatureError::Changed("main.lua".into()));
    assert_eq!(with(&|files| files[0].name = "Part.lua".into()), SignatureError::Missing("part.lua".into()));

    let text = String::from_utf8(signature).expect("it is a text");
    let others = String::from_utf8(sign(&files(), &key('2'))).expect("it is a text");
    let line = |text: &str, at: usize| text.lines().nth(at).expect("it has that many").to_owned();
    let rows = [
        // Another's signature, another's key.
        (text.replace(&line(&text, 5), &line(&others, 5)), "broken"),
        (text.replace(&line(&text, 1), &line(&others, 1)), "broken"),
        // A list that was added to, and one that lost a line.
        (text.replace("file ", "file  "), "not a file"),
        (text.replace(&format!("{}\n", line(&text, 3)), ""), "broken"),
        (text.replace(" 8 part.lua", " 9 part.lua"), "broken"),
        (text.replace("homeagent package 1", "homeagent package 2"), "newer"),
        (text.to_uppercase(), "no signature"),
        (text.replace('\n', "\r\n"), "128"),
        (format!("{text}\n"), "128"),
        (String::new(), "no signature"),
        ("file a\n".repeat(100_000), "too large"),
    ];
    for (changed, word) in rows {
        let refused = verify(&files(), changed.as_bytes()).expect_err("it was changed").to_string();
        assert!(refused.contains(word), "{refused} does not say {word}");
    }
}

#[test]
fn a_list_that_was_signed_and_is_not_in_its_form_is_refused() {
    let twice = [files(), vec![file("MAIN.lua", "")]].concat();
    assert_eq!(verify(&files(), &sign(&twice, &key('1'))), Err(SignatureError::Duplicate("main.lua".into())));
    let outside = [files(), vec![file("../main.lua", "")]].concat();
    let refused = verify(&outside, &sign(&outside, &key('1'))).expect_err("it leads elsewhere").to_string();
    assert!(refused.contains("another folder"), "{refused}");
}

#[test]
fn what_is_no_package_is_refused_with_the_reason() {
    let archive = pack(&files()).expect("it can be packed");
    // The first header's kind, with the sum made right.
    let kind = |kind: u8| {
        let mut archive = archive.clone();
        archive[156] = kind;
        let sum: u32 = archive[..512]
            .iter()
            .enumerate()
            .map(|(at, &b)| if (148..156).contains(&at) { 32 } else { u32::from(b) })
            .sum();
        archive[148..154].copy_from_slice(format!("{sum:06o}").as_bytes());
        archive
    };
    let rows = [
        (kind(b'2'), "plugin.toml is a link"),
        (kind(b'3'), "a device"),
        (kind(b'5'), "a folder"),
        (kind(b'x'), "not known"),
        (archive[..archive.len() - 512].to_vec(), "not as waiter plugin pack writes it"),
        ([&archive[..], &[0; 512]].concat(), "not as waiter plugin pack writes it"),
        (archive[..700].to_vec(), "in the middle of plugin.toml"),
        (archive[..100].to_vec(), "too early"),
        (b"PK\x03\x04".repeat(300), "another sum"),
        (Vec::new(), "too early"),
        (vec![0; 1024], "no plugin.toml"),
    ];
    for (archive, word) in rows {
        let refused = unpack(&archive).expect_err("it is none").to_string();
        assert!(refused.contains(word), "{refused} does not say {word}");
    }
    let with = |name: &str| pack(&[files(), vec![file(name, "")]].concat());
    for name in ["../x.lua", "a/b.lua", "", ".hidden", "a\nb", &"x".repeat(101)] {
        assert!(matches!(with(name), Err(ArchiveError::Name { .. })), "{name:?}");
    }
    assert_eq!(with("Main.LUA"), Err(ArchiveError::Duplicate("Main.LUA".into())));
    let many: Vec<File> = (0..300).map(|number| file(&format!("{number}.lua"), "")).collect();
    assert_eq!(pack(&many), Err(ArchiveError::Many));
    assert_eq!(pack(&[file(MANIFEST, &"x".repeat(67 << 20))]), Err(ArchiveError::Large));
}

#[test]
fn a_key_is_known_by_the_same_words_each_time_and_shown_to_nobody() {
    let key = key('1');
    assert_eq!(PublicKey::parse(&key.public().to_string()), Some(key.public()));
    assert_eq!(key.public().fingerprint().len(), 39);
    assert!(!format!("{key:?}").contains("1111"));
    assert_eq!(SigningKey::from_text(&key.to_text()).expect("it is a key").public(), key.public());
    for text in ["", "homeagent signing key: 11\n", &key.to_text().to_uppercase()] {
        assert!(SigningKey::from_text(text).is_err(), "{text}");
    }
    let other = SigningKey::generate().expect("there are random numbers");
    assert_ne!(other.public(), SigningKey::generate().expect("there are random numbers").public());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// Every byte counts: of the headers, of what fills up blocks, of the list, of the signature.
    #[test]
    fn a_signed_package_with_another_byte_is_refused(at in any::<prop::sample::Index>(), flip in 1..=255_u8) {
        let archive = pack(&signed()).expect("it can be packed");
        let good = open(&archive).expect("it is as it was packed");
        let mut changed = archive;
        let at = at.index(changed.len());
        changed[at] ^= flip;
        if let Ok(opened) = open(&changed) {
            prop_assert_eq!(opened, good);
        }
    }

    #[test]
    fn a_signature_with_another_byte_is_refused(at in any::<prop::sample::Index>(), flip in 1..=255_u8) {
        let mut signature = sign(&files(), &key('1'));
        let at = at.index(signature.len());
        signature[at] ^= flip;
        prop_assert!(verify(&files(), &signature).is_err());
    }

    #[test]
    fn any_files_come_back_as_they_were(contents in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..1500), 0..5)) {
        let numbered = contents.into_iter().enumerate();
        let mut files: Vec<File> = numbered.map(|(number, bytes)| File { name: format!("{number}.lua"), bytes }).collect();
        files.insert(0, file(MANIFEST, ""));
        prop_assert_eq!(unpack(&pack(&files).expect("it can be packed")), Ok(files));
    }

    #[test]
    fn nothing_that_is_read_breaks_the_reader(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
        drop(unpack(&bytes));
        drop(verify(&files(), &bytes));
    }
}
