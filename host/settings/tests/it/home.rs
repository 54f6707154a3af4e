//! A home folder that is removed after the test.

use homeagent_settings::{Database, Secrets, Settings};
use tempfile::TempDir;

pub(crate) struct Home {
    pub(crate) folder: TempDir,
}

impl Home {
    pub(crate) fn new() -> Self {
        // The prefix proves that paths need not be ASCII, nor free of what URLs treat specially.
        let folder = tempfile::Builder::new().prefix("家 ?#%20").tempdir().expect("a temporary folder");
        Self { folder }
    }

    pub(crate) fn database(&self) -> Database {
        Database::open(self.folder.path().join("homeagent.db")).expect("the database opens")
    }

    pub(crate) fn secrets(&self) -> Secrets {
        Secrets::open(&self.database(), self.folder.path()).expect("the secrets open")
    }

    pub(crate) fn settings(&self) -> Settings {
        let database = self.database();
        let secrets = Secrets::open(&database, self.folder.path()).expect("the secrets open");
        Settings::open(&database, &secrets).expect("the settings open")
    }

    /// Runs SQL behind the stores' backs.
    pub(crate) fn tamper(&self, sql: &str) {
        let connection = self.database().writer().expect("a connection");
        connection.execute_batch(sql).expect("the tampering works");
    }
}
