//! Vendors whose keys are found in environment variables.

use super::address;
use super::{COMPLETIONS, Environment, Found, Offer};

/// A vendor whose models can be asked.
pub(super) struct Vendor {
    /// What its source is called.
    pub(super) name: &'static str,
    /// Where its key may stand; the first one that is set counts.
    pub(super) key_variables: &'static [&'static str],
    /// What speaks its protocol: an adapter of its own, where there is one, which knows the vendor's rules for tools and
    /// thoughts.
    adapter: &'static str,
    /// The variable with another address for its API, which the vendor's own programs read as well.
    address_variable: Option<&'static str>,
    /// What speaks with another address, and with which options, where that is not `adapter`.
    elsewhere: Option<(&'static str, Options)>,
    /// What is behind the address in `address_variable`, where that is not the endpoint's own.
    behind: &'static str,
    base_url: &'static str,
    model: &'static str,
    options: Options,
}

/// Options of a source.
type Options = &'static [(&'static str, &'static str)];

const fn vendor(
    name: &'static str,
    adapter: &'static str,
    key_variables: &'static [&'static str],
    base_url: &'static str,
    model: &'static str,
) -> Vendor {
    let (address_variable, elsewhere, behind, options) = (None, None, "", &[] as Options);
    Vendor { name, key_variables, adapter, address_variable, elsewhere, behind, base_url, model, options }
}

/// All vendors, in the order in which they are offered.
pub(super) const VENDORS: &[Vendor] = &[
    Vendor {
        address_variable: Some("DEEPSEEK_BASE_URL"),
        options: &[("thinking", "off"), ("temperature", "0.7"), ("max_tokens", "4096")],
        ..vendor("deepseek", "deepseek", &["DEEPSEEK_API_KEY"], "https://api.deepseek.com", "deepseek-v4-flash")
    },
    // By chat completions its models either think or call tools; by the newer protocol they do both in one turn. What
    // stands at another address under its name seldom speaks the newer one.
    Vendor {
        address_variable: Some("OPENAI_BASE_URL"),
        elsewhere: Some((COMPLETIONS, &[("thinking", "off")])),
        options: &[("effort", "low")],
        ..vendor("openai", "openai-responses", &["OPENAI_API_KEY"], "https://api.openai.com/v1", "gpt-6-luna")
    },
    // Its programs put the version into the path, so the variable has an address without one.
    Vendor {
        address_variable: Some("ANTHROPIC_BASE_URL"),
        behind: "/v1",
        ..vendor("anthropic", "anthropic", &["ANTHROPIC_API_KEY"], "https://api.anthropic.com/v1", "claude-haiku-5-5")
    },
    vendor(
        "gemini",
        "gemini",
        &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
        "https://generativelanguage.googleapis.com/v1beta",
        "gemini-3.5-flash-lite",
    ),
    vendor("openrouter", COMPLETIONS, &["OPENROUTER_API_KEY"], "https://openrouter.ai/api/v1", "openrouter/auto"),
    // It always thinks, and with this as little as it can.
    Vendor {
        options: &[("thinking", "off")],
        ..vendor("moonshot", COMPLETIONS, &["MOONSHOT_API_KEY"], "https://api.moonshot.cn/v1", "kimi-k3")
    },
    vendor(
        "zhipu",
        "zhipu",
        &["ZHIPUAI_API_KEY", "ZHIPU_API_KEY"],
        "https://open.bigmodel.cn/api/paas/v4",
        "glm-4.7-flash",
    ),
    vendor("dashscope", "qwen", &["DASHSCOPE_API_KEY"], "https://dashscope.aliyuncs.com/api/v1", "qwen-plus"),
    Vendor {
        options: &[("thinking", "off")],
        ..vendor(
            "doubao",
            COMPLETIONS,
            &["ARK_API_KEY"],
            "https://ark.cn-beijing.volces.com/api/v3",
            "doubao-seed-2-1-turbo-260628",
        )
    },
    vendor(
        "siliconflow",
        COMPLETIONS,
        &["SILICONFLOW_API_KEY"],
        "https://api.siliconflow.cn/v1",
        "deepseek-ai/DeepSeek-V3",
    ),
    vendor("groq", COMPLETIONS, &["GROQ_API_KEY"], "https://api.groq.com/openai/v1", "openai/gpt-oss-120b"),
    // It refuses requests with fields that it does not know, and `stream_options` is one.
    Vendor {
        options: &[("stream_usage", "off")],
        ..vendor("mistral", COMPLETIONS, &["MISTRAL_API_KEY"], "https://api.mistral.ai/v1", "mistral-small-latest")
    },
    vendor("xai", COMPLETIONS, &["XAI_API_KEY"], "https://api.x.ai/v1", "grok-4.3"),
];

impl Vendor {
    /// The variable that holds a usable key, and the key. What is set and can't be used is told in `notes`.
    pub(super) fn key(&self, environment: Environment, notes: &mut Vec<String>) -> Option<(&'static str, String)> {
        for variable in self.key_variables {
            let Some(text) = environment(variable) else { continue };
            let key = text.trim();
            if key.is_empty() {
                notes.push(format!("the environment variable {variable} is set and empty, so there is no key in it"));
            } else if key.chars().all(|c| c.is_ascii_graphic()) {
                return Some((variable, key.to_owned()));
            } else {
                notes.push(format!(
                    "the environment variable {variable} holds spaces or characters that no key has; set it again"
                ));
            }
        }
        None
    }

    fn offer(&self, variable: &'static str, environment: Environment) -> Result<Offer, String> {
        let given = self.address_variable.and_then(|name| Some((name, environment(name)?)));
        let base_url = match given.filter(|(_, url)| !url.trim().is_empty()) {
            None => self.base_url.to_owned(),
            // The key is never sent to the vendor's usual address where another one is meant.
            Some((name, url)) => {
                let url = address::usable(url.trim()).ok_or_else(|| {
                    format!(
                        "the key in {variable} is not offered: the environment variable {name} has to hold an address \
                         that begins with http:// or https://, without a password"
                    )
                })?;
                if url.ends_with(self.behind) { url } else { format!("{url}{}", self.behind) }
            }
        };
        let elsewhere = self.elsewhere.filter(|_| base_url != self.base_url);
        let (adapter, options) = elsewhere.unwrap_or((self.adapter, self.options));
        Ok(Offer {
            name: self.name.to_owned(),
            adapter: adapter.to_owned(),
            base_url,
            model: self.model.to_owned(),
            models: None,
            options: options.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
            found_in: format!("environment variable {variable}"),
            needs_key: true,
        })
    }
}

/// What the environment has keys for.
pub(super) fn look(environment: Environment) -> Found {
    let mut found = Found::default();
    for vendor in VENDORS {
        let Some((variable, _)) = vendor.key(environment, &mut found.notes) else { continue };
        match vendor.offer(variable, environment) {
            Ok(offer) => found.offers.push(offer),
            Err(note) => found.notes.push(note),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deepseek_key_is_offered_with_the_flash_model_that_does_not_think() {
        let found = look(|name| (name == "DEEPSEEK_API_KEY").then(|| " sk-1\n".to_owned()));
        assert!(found.notes.is_empty(), "{:?}", found.notes);
        let [offer] = found.offers.as_slice() else { panic!("{:?}", found.offers) };
        assert_eq!((&*offer.name, &*offer.model), ("deepseek", "deepseek-v4-flash"));
        assert_eq!((&*offer.adapter, &*offer.base_url), ("deepseek", "https://api.deepseek.com"));
        let options: Vec<String> = offer.options.iter().map(|(name, value)| format!("{name}={value}")).collect();
        assert_eq!(options, ["max_tokens=4096", "temperature=0.7", "thinking=off"]);
        assert_eq!(offer.found_in, "environment variable DEEPSEEK_API_KEY");
        assert!(!format!("{offer:?}").contains("sk-1"));
    }

    #[test]
    fn an_address_in_the_environment_is_used_and_one_that_cannot_be_used_keeps_the_key_at_home() {
        let found = look(|name| match name {
            "ANTHROPIC_API_KEY" | "OPENAI_API_KEY" => Some("k".to_owned()),
            "ANTHROPIC_BASE_URL" => Some("http://proxy.home:8000/".to_owned()),
            "OPENAI_BASE_URL" => Some("http://me:secret@proxy.home".to_owned()),
            _ => None,
        });
        let urls: Vec<&str> = found.offers.iter().map(|offer| &*offer.base_url).collect();
        assert_eq!(urls, ["http://proxy.home:8000/v1"]);
        let [note] = found.notes.as_slice() else { panic!("{:?}", found.notes) };
        assert!(note.contains("OPENAI_BASE_URL") && !note.contains("secret"), "{note}");
    }

    #[test]
    fn what_stands_in_for_openai_elsewhere_is_asked_by_the_protocol_that_most_speak() {
        let key = |name: &str| (name == "OPENAI_API_KEY").then(|| "k".to_owned());
        let offer = look(key).offers.swap_remove(0);
        assert_eq!((&*offer.adapter, offer.options["effort"].as_str()), ("openai-responses", "low"));
        let offer = look(|name| match name {
            "OPENAI_API_KEY" => Some("k".to_owned()),
            "OPENAI_BASE_URL" => Some("http://proxy.home:4000/v1".to_owned()),
            _ => None,
        })
        .offers
        .swap_remove(0);
        assert_eq!((&*offer.adapter, &*offer.base_url), ("openai", "http://proxy.home:4000/v1"));
        assert_eq!(offer.options["thinking"], "off");
    }

    #[test]
    fn keys_that_are_empty_or_broken_are_told_and_the_next_variable_is_read() {
        let found = look(|name| match name {
            "GEMINI_API_KEY" => Some("  ".to_owned()),
            "GOOGLE_API_KEY" => Some("AIza".to_owned()),
            "XAI_API_KEY" => Some("two words".to_owned()),
            _ => None,
        });
        let names: Vec<&str> = found.offers.iter().map(|offer| &*offer.name).collect();
        assert_eq!(names, ["gemini"]);
        assert_eq!(found.offers[0].found_in, "environment variable GOOGLE_API_KEY");
        assert!(found.notes[0].contains("GEMINI_API_KEY") && found.notes[1].contains("XAI_API_KEY"));
        assert!(!found.notes[1].contains("two words"));
    }

    #[test]
    fn every_vendor_has_a_name_and_an_address_of_its_own() {
        let mut names: Vec<&str> = VENDORS.iter().map(|vendor| vendor.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), VENDORS.len());
        for vendor in VENDORS {
            assert_eq!(address::usable(vendor.base_url).as_deref(), Some(vendor.base_url));
        }
    }
}
