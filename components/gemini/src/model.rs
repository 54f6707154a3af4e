//! What the models take, known by their names.

use serde_json::{Value, json};

/// What a model is, as far as requests depend on it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Model {
    version: (u32, u32),
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Pro,
    Flash,
    Lite,
    Other,
}

impl Model {
    /// What a name says: `gemini-2.5-flash-lite`, `models/gemini-4-argon`. Of names that say nothing the newest is believed.
    pub(crate) fn of(name: &str) -> Self {
        let rest = name.rsplit('/').next().unwrap_or_default().strip_prefix("gemini-").unwrap_or_default();
        let number = rest.split('-').next().unwrap_or_default();
        let (major, minor) = number.split_once('.').unwrap_or((number, "0"));
        let version = major.parse().ok().map(|major| (major, minor.parse().unwrap_or(0)));
        let kind = match rest {
            _ if rest.contains("lite") => Kind::Lite,
            _ if rest.contains("flash") => Kind::Flash,
            _ if rest.contains("pro") => Kind::Pro,
            _ => Kind::Other,
        };
        Model { version: version.unwrap_or((99, 0)), kind }
    }

    /// Its calls have to come back with signatures.
    pub(crate) fn signs(self) -> bool {
        self.version >= (3, 0)
    }

    /// It is meant to be used with the vendor's own temperature.
    pub(crate) fn own_temperature(self) -> bool {
        self.version >= (3, 0)
    }

    /// How it is told to think, or to think as little as it can. `level`: how much, if the source says so.
    pub(crate) fn thinking(self, wanted: Option<bool>, level: Option<&str>) -> Option<Value> {
        if self.version < (2, 5) {
            return None;
        }
        let mut thinking = match (wanted, level) {
            (None, None) => return None,
            (Some(false), _) if self.version < (3, 0) => {
                json!({"thinkingBudget": if self.kind == Kind::Pro { 128 } else { 0 }})
            }
            (Some(false), _) => json!({"thinkingLevel": self.least()}),
            (_, Some(level)) if self.version >= (3, 0) => json!({"thinkingLevel": level}),
            (_, _) if self.version < (3, 0) => json!({"thinkingBudget": -1}),
            _ => json!({}),
        };
        if wanted == Some(true) {
            thinking["includeThoughts"] = true.into();
        }
        Some(thinking)
    }

    /// The lowest level it takes; none can be kept from thinking.
    fn least(self) -> &'static str {
        match self.kind {
            Kind::Lite => "minimal",
            Kind::Flash if self.version < (3, 7) => "minimal",
            _ => "low",
        }
    }
}
