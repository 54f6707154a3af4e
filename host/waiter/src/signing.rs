//! The key with which an author signs packages: a file that only its owner reads.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use homeagent_package::SigningKey;
use zeroize::Zeroizing;

use crate::failure::Failure;

/// Where the key is, unless the command line says otherwise.
pub(crate) fn file(given: Option<PathBuf>) -> Result<PathBuf, Failure> {
    let usual = || homeagent_home::config_folder().map(|folder| folder.join("signing.key"));
    given.or_else(usual).ok_or_else(|| {
        Failure::Usage("no folder for the key is known: give --key FILE, or set XDG_CONFIG_HOME or HOME".to_owned())
    })
}

/// Makes a key. One that is there is never replaced: whoever trusts it would not know the other.
pub(crate) fn create(file: &Path) -> Result<SigningKey, Failure> {
    let failed = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::AlreadyExists => Failure::Failed(format!(
            "{} is there already; waiter plugin key show shows it, and --key FILE makes another",
            file.display()
        )),
        _ => Failure::Failed(format!("{} can't be written: {error}", file.display())),
    };
    if let Some(folder) = file.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(failed)?;
    }
    let key = SigningKey::generate().map_err(|error| Failure::Failed(format!("no key can be made: {error}")))?;
    let mut written = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(file).map_err(failed)?;
    written.write_all(key.to_text().as_bytes()).and_then(|()| written.sync_all()).map_err(failed)?;
    Ok(key)
}

/// Reads the key.
pub(crate) fn load(file: &Path) -> Result<SigningKey, Failure> {
    let failed = |reason: String| Failure::Failed(format!("{} can't be used: {reason}", file.display()));
    let about = match fs::metadata(file) {
        Ok(about) => about,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Err(failed("it is not there; waiter plugin key new makes a key".to_owned()));
        }
        Err(error) => return Err(failed(error.to_string())),
    };
    if about.mode() & 0o077 != 0 {
        return Err(failed(format!("others may read it; chmod 600 {} if nobody has", file.display())));
    }
    let text = fs::read_to_string(file).map(Zeroizing::new).map_err(|error| failed(error.to_string()))?;
    SigningKey::from_text(&text).map_err(|error| failed(error.to_string()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_key_is_its_owner_s_alone_and_is_never_replaced() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("config/signing.key");
        let missing = load(&file).expect_err("there is none").to_string();
        assert!(missing.contains("waiter plugin key new"), "{missing}");
        let key = create(&file).expect("it can be made");
        assert_eq!(fs::metadata(&file).expect("it is there").mode() & 0o777, 0o600);
        assert_eq!(load(&file).expect("it is there").public(), key.public());
        let again = create(&file).expect_err("it is there").to_string();
        assert!(again.contains("already"), "{again}");
        assert_eq!(load(&file).expect("it is there").public(), key.public());

        fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).expect("it is ours");
        let refused = load(&file).expect_err("others may read it").to_string();
        assert!(refused.contains("chmod 600"), "{refused}");
    }
}
