use std::borrow::Cow;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use homeagent_settings::{Secret, Secrets, SecretsError};

use crate::home::Home;

const TEXT: &str = "sk-0123456789-秘密";

fn key_file(home: &Home) -> std::path::PathBuf {
    home.folder.path().join("secret.key")
}

fn reopen(home: &Home) -> Result<Secrets, SecretsError> {
    Secrets::open(&home.database(), home.folder.path())
}

#[test]
fn secrets_outlive_the_program() {
    let home = Home::new();
    let secrets = home.secrets();
    assert!(!key_file(&home).exists(), "the key is made at first use");
    secrets.set("主", TEXT.into()).expect("sets");
    secrets.set("other", "x".into()).expect("sets");
    assert_eq!(fs::metadata(key_file(&home)).expect("exists").permissions().mode() & 0o777, 0o600);
    let secrets = home.secrets();
    assert_eq!(secrets.get("主").expect("decrypts").expect("is there").expose(), TEXT);
    assert_eq!(secrets.names(), ["other", "主"]);
    assert!(secrets.remove("other").expect("removes"));
    assert!(!secrets.remove("other").expect("removes nothing"));
    assert!(home.secrets().get("other").expect("answers").is_none());
}

#[test]
fn no_file_holds_a_secret_in_clear() {
    let home = Home::new();
    let secrets = home.secrets();
    for round in 0..20 {
        secrets.set("main", format!("{TEXT}{round}").into()).expect("sets");
    }
    secrets.remove("main").expect("removes");
    secrets.set("main", TEXT.into()).expect("sets");
    let search = || {
        for file in fs::read_dir(home.folder.path()).expect("lists") {
            let path = file.expect("an entry").path();
            let bytes = fs::read(&path).expect("reads");
            let found = bytes.windows(TEXT.len()).any(|window| window == TEXT.as_bytes());
            assert!(!found, "{} holds it", path.display());
        }
    };
    search();
    drop(secrets);
    search();
}

#[test]
fn a_secret_does_not_print_itself() {
    assert_eq!(format!("{:?}", Secret::from(TEXT)), "Secret(…)");
}

#[test]
fn names_and_empty_texts_are_checked() {
    let home = Home::new();
    let secrets = home.secrets();
    assert!(matches!(secrets.set("", TEXT.into()), Err(SecretsError::BadName { .. })));
    assert!(matches!(secrets.set("a\nb", TEXT.into()), Err(SecretsError::BadName { .. })));
    assert!(matches!(secrets.set("main", "".into()), Err(SecretsError::Empty { .. })));
}

#[test]
fn rows_cannot_be_exchanged() {
    let home = Home::new();
    let secrets = home.secrets();
    secrets.set("cheap", "a cheap one".into()).expect("sets");
    secrets.set("dear", "a dear one".into()).expect("sets");
    drop(secrets);
    home.tamper(
        "UPDATE secrets SET name = 'x' WHERE name = 'cheap'; UPDATE secrets SET name = 'cheap' WHERE name = 'dear';",
    );
    let secrets = home.secrets();
    let error = secrets.get("cheap").expect_err("does not decrypt");
    assert!(error.to_string().contains("\"cheap\"") && error.to_string().contains("set it again"), "{error}");
    secrets.set("cheap", "again".into()).expect("can be set again");
    assert_eq!(secrets.get("cheap").expect("decrypts").expect("is there").expose(), "again");
    assert!(secrets.remove("x").expect("an unreadable one can be removed"));
}

#[test]
fn a_missing_key_is_said_and_not_replaced() {
    let home = Home::new();
    home.secrets().set("main", TEXT.into()).expect("sets");
    fs::remove_file(key_file(&home)).expect("removes");
    let error = reopen(&home).err().expect("is refused");
    assert!(matches!(error, SecretsError::KeyMissing { count: 1, .. }), "{error:?}");
    assert!(!key_file(&home).exists());
}

#[test]
fn a_short_or_open_key_is_refused() {
    let home = Home::new();
    home.secrets().set("main", TEXT.into()).expect("sets");
    let key = key_file(&home);
    fs::set_permissions(&key, fs::Permissions::from_mode(0o640)).expect("chmod");
    let error = reopen(&home).err().expect("is refused");
    assert!(matches!(error, SecretsError::KeyOpenToOthers { mode: 0o640, .. }), "{error:?}");
    assert!(error.to_string().contains("chmod 600"), "{error}");
    fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).expect("chmod");
    fs::write(&key, [7; 31]).expect("writes");
    let error = reopen(&home).err().expect("is refused");
    assert!(matches!(error, SecretsError::KeyLength { found: 31, expected: 32, .. }), "{error:?}");
}

#[test]
fn another_key_opens_nothing_but_keeps_nothing_from_starting() {
    let home = Home::new();
    home.secrets().set("main", TEXT.into()).expect("sets");
    fs::write(key_file(&home), [7; 32]).expect("writes");
    let secrets = home.secrets();
    assert_eq!(secrets.names(), ["main"]);
    assert!(matches!(secrets.get("main"), Err(SecretsError::NotDecrypted { .. })));
    assert_eq!(secrets.redact("nothing known"), "nothing known");
}

#[test]
fn a_known_secret_is_found_in_any_content() {
    let secrets = Home::new().secrets();
    secrets.set("main", "sk-marked-\"0123\"".into()).expect("stores");
    assert_eq!(secrets.named_in(b"\xff\xfe sk-marked-\"0123\" \xff").as_deref(), Some("main"));
    assert_eq!(secrets.named_in(br#"{"key":"sk-marked-\"0123\""}"#).as_deref(), Some("main"));
    assert_eq!(secrets.named_in(b"sk-marked"), None);
}

#[test]
fn known_secrets_are_taken_out_of_texts() {
    let home = Home::new();
    let secrets = home.secrets();
    secrets.set("main", TEXT.into()).expect("sets");
    secrets.set("longer", format!("{TEXT}-more").into()).expect("sets");
    secrets.set("quoted", "a\"b\\c/d e+f".into()).expect("sets");
    secrets.set("short", "1234567".into()).expect("sets");
    assert!(matches!(secrets.redact("没有秘密 1234567"), Cow::Borrowed(_)));
    assert_eq!(secrets.redact(&format!("键={TEXT}，{TEXT}-more。")), "键=[secret main]，[secret longer]。");
    assert_eq!(secrets.redact(r#"{"k":"a\"b\\c/d e+f"}"#), r#"{"k":"[secret quoted]"}"#);
    assert_eq!(secrets.redact("?k=a%22b%5Cc%2Fd%20e%2Bf&x"), "?k=[secret quoted]&x");
    secrets.remove("longer").expect("removes");
    assert_eq!(secrets.redact(&format!("{TEXT}-more")), "[secret main]-more");
}

#[test]
fn overlapping_secrets_leave_no_part() {
    let home = Home::new();
    let secrets = home.secrets();
    secrets.set("a", "abcdefgh12345678".into()).expect("sets");
    secrets.set("b", "12345678ijklmnop".into()).expect("sets");
    assert_eq!(secrets.redact("<abcdefgh12345678ijklmnop>"), "<[secret a]>");
}
