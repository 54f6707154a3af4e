//! What an instance hands on to the one that takes its place.

use homeagent_sdk::Error;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::kept::Kept;
use crate::state::{Known, Qq};

/// The form of what is saved.
const FORM: u32 = 1;

#[derive(Serialize)]
struct Saving<'a> {
    form: u32,
    known: &'a Known,
    /// Messages that wait for look-ups, as they came.
    waiting: Vec<Value>,
    kept: &'a Kept,
}

#[derive(Deserialize)]
struct Saved {
    known: Known,
    waiting: Vec<Value>,
    #[serde(default)]
    kept: Kept,
}

impl Qq {
    /// Everything the next instance has to know. Nothing is given away: this one may go on to serve.
    pub(crate) fn save(&mut self) -> Vec<u8> {
        self.known.connections = self.accounts.learnt();
        let waiting = self.left.iter().cloned().chain(self.drafts.frames()).collect();
        // Texts and numbers always serialise.
        serde_json::to_vec(&Saving { form: FORM, known: &self.known, waiting, kept: &self.kept }).unwrap_or_default()
    }

    /// Takes over what another instance saved.
    pub(crate) fn load(&mut self, state: &[u8]) -> Result<(), Error> {
        let value: Value = serde_json::from_slice(state)?;
        if value["form"] != FORM {
            return Err(Error::invalid(format!("the state has the form {}; this version knows {FORM}", value["form"])));
        }
        let Saved { known, waiting, kept } = serde_json::from_value(value)?;
        (self.known, self.left, self.kept) = (known, waiting, kept);
        Ok(())
    }
}
