//! What the models take, known by their names unless the source's options say.

use homeagent_adapters::Options;

/// How a model is told to think, and what it refuses.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Model {
    pub(crate) thinking: Thinking,
    /// How it is told not to think.
    pub(crate) quiet: Quiet,
    /// It thinks without being told.
    pub(crate) thinks: bool,
    /// It takes a temperature.
    pub(crate) temperature: bool,
    /// It can be made to call a tool.
    pub(crate) forced: bool,
    /// It shows its thoughts only when it is asked to.
    pub(crate) hides: bool,
    /// Its thoughts are refused behind anything that has changed.
    pub(crate) bound: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Thinking {
    /// It decides itself how much.
    Adaptive,
    /// It is given a number of tokens.
    Budget,
    /// It can't.
    Never,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Quiet {
    /// By saying nothing.
    Silence,
    Disabled,
    BetweenTools,
    /// It always thinks; a low effort is as little as it can.
    LowEffort,
}

impl Model {
    /// What a model takes.
    pub(crate) fn of(name: &str, options: Options<'_>) -> Result<Self, String> {
        let (family, version) = parse(name);
        let old = version < (4, 6);
        let always = matches!(family, "fable" | "mythos") || (family == "opus" && version >= (5, 5));
        let latest = version >= (5, 5) || (matches!(family, "fable" | "mythos") && version >= (5, 1));
        let known = Model {
            thinking: match version {
                _ if old && version < (3, 7) => Thinking::Never,
                _ if old => Thinking::Budget,
                _ => Thinking::Adaptive,
            },
            quiet: match family {
                // Of others it is not known whether they think by themselves.
                "" => Quiet::Disabled,
                _ if old => Quiet::Silence,
                _ if always => Quiet::LowEffort,
                "sonnet" if latest => Quiet::BetweenTools,
                _ => Quiet::Disabled,
            },
            thinks: version >= (5, 0),
            temperature: version < (4, 7),
            forced: !latest || family == "haiku",
            hides: version >= (4, 7),
            bound: latest,
        };
        let styles = ["adaptive", "budget", "none"];
        Ok(match options.one_of("thinking_style", &styles)? {
            None => known,
            Some("adaptive") => Model { thinking: Thinking::Adaptive, ..known },
            Some("budget") => Model { thinking: Thinking::Budget, quiet: Quiet::Disabled, ..known },
            Some(_) => Model { thinking: Thinking::Never, quiet: Quiet::Silence, ..known },
        })
    }
}

/// The family and the version in a name: `claude-opus-4-8`, `claude-3-7-sonnet-20250219`, `anthropic.claude-sonnet-5-v1:0`.
/// Models of others, which speak the protocol too, count as old ones that can be given a budget.
fn parse(name: &str) -> (&str, (u32, u32)) {
    const FAMILIES: [&str; 5] = ["opus", "sonnet", "haiku", "fable", "mythos"];
    let words: Vec<&str> = name.split(['-', '.', '/', ':', '@', '_']).collect();
    let Some(place) = words.iter().position(|word| FAMILIES.contains(word)) else { return ("", (4, 0)) };
    let number = |word: Option<&&str>| word.filter(|word| word.len() < 3).and_then(|word| word.parse::<u32>().ok());
    let version = |at: usize| number(words.get(at)).map(|major| (major, number(words.get(at + 1)).unwrap_or(0)));
    let before = words[..place].iter().position(|word| number(Some(word)).is_some()).and_then(version);
    // A name without a number is the family's newest.
    (words[place], version(place + 1).or(before).unwrap_or((99, 0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_family_and_version() {
        for (name, family, version) in [
            ("claude-opus-4-8", "opus", (4, 8)),
            ("claude-opus-5", "opus", (5, 0)),
            ("claude-haiku-5-5", "haiku", (5, 5)),
            ("claude-haiku-4-5-20251001", "haiku", (4, 5)),
            ("claude-sonnet-4-20250514", "sonnet", (4, 0)),
            ("claude-3-7-sonnet-20250219", "sonnet", (3, 7)),
            ("claude-3-haiku-20240307", "haiku", (3, 0)),
            ("us.anthropic.claude-opus-4-6-v1", "opus", (4, 6)),
            ("anthropic/claude-sonnet-5.5", "sonnet", (5, 5)),
            ("claude-fable-5-1", "fable", (5, 1)),
            ("claude-opus-latest", "opus", (99, 0)),
            ("kimi-k2", "", (4, 0)),
        ] {
            assert_eq!(parse(name), (family, version), "{name}");
        }
    }
}
