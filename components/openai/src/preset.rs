//! The vendors and servers whose ways with the protocol are known: by the source's option `preset`, else by its address.

use homeagent_adapters::Options;
use homeagent_adapters::lenient::host;

/// Whose ways a source has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Preset {
    /// Nobody's in particular: what can be known is known by the model's name.
    Plain,
    OpenAi,
    DeepSeek,
    OpenRouter,
    Moonshot,
    Zhipu,
    DashScope,
    Doubao,
    SiliconFlow,
    LlamaCpp,
    Vllm,
    LmStudio,
}

/// Presets by the names that sources have for them.
const NAMES: [(&str, Preset); 12] = [
    ("plain", Preset::Plain),
    ("openai", Preset::OpenAi),
    ("deepseek", Preset::DeepSeek),
    ("openrouter", Preset::OpenRouter),
    ("moonshot", Preset::Moonshot),
    ("zhipu", Preset::Zhipu),
    ("dashscope", Preset::DashScope),
    ("doubao", Preset::Doubao),
    ("siliconflow", Preset::SiliconFlow),
    ("llamacpp", Preset::LlamaCpp),
    ("vllm", Preset::Vllm),
    ("lmstudio", Preset::LmStudio),
];

/// Presets by the ends of hosts' names.
const HOSTS: [(&str, Preset); 15] = [
    ("openai.com", Preset::OpenAi),
    ("deepseek.com", Preset::DeepSeek),
    ("openrouter.ai", Preset::OpenRouter),
    ("moonshot.cn", Preset::Moonshot),
    ("moonshot.ai", Preset::Moonshot),
    ("kimi.com", Preset::Moonshot),
    ("bigmodel.cn", Preset::Zhipu),
    ("z.ai", Preset::Zhipu),
    ("dashscope.aliyuncs.com", Preset::DashScope),
    ("dashscope-intl.aliyuncs.com", Preset::DashScope),
    ("dashscope-us.aliyuncs.com", Preset::DashScope),
    ("volces.com", Preset::Doubao),
    ("bytepluses.com", Preset::Doubao),
    ("siliconflow.cn", Preset::SiliconFlow),
    ("siliconflow.com", Preset::SiliconFlow),
];

impl Preset {
    /// The preset of a source.
    ///
    /// # Errors
    ///
    /// Its option `preset` names none.
    pub(crate) fn of(options: Options<'_>) -> Result<Self, String> {
        let names = NAMES.map(|(name, _)| name);
        if let Some(wanted) = options.one_of("preset", &names)? {
            let named = NAMES.iter().find(|(name, _)| *name == wanted);
            return Ok(named.map_or(Preset::Plain, |(_, preset)| *preset));
        }
        let host = host(options.get("base_url").unwrap_or_default());
        let is = |end: &str| host.strip_suffix(end).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
        Ok(HOSTS.iter().find(|(end, _)| is(end)).map_or(Preset::Plain, |(_, preset)| *preset))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(name: &str, value: &str) -> Result<Preset, String> {
        Preset::of(Options::new(&[(name.to_owned(), value.to_owned())]))
    }

    #[test]
    fn an_address_says_whose_it_is() {
        for (address, preset) in [
            ("https://api.openai.com/v1", Preset::OpenAi),
            ("https://API.DeepSeek.com", Preset::DeepSeek),
            ("https://ark.cn-beijing.volces.com/api/v3", Preset::Doubao),
            ("https://dashscope-intl.aliyuncs.com/compatible-mode/v1", Preset::DashScope),
            ("https://api.z.ai:443/api/paas/v4", Preset::Zhipu),
            ("https://api.moonshot.ai/v1", Preset::Moonshot),
            // None of theirs.
            ("https://notopenai.com/v1", Preset::Plain),
            ("https://openai.com.example.org/v1", Preset::Plain),
            ("http://127.0.0.1:8080/api.openai.com", Preset::Plain),
            ("", Preset::Plain),
        ] {
            assert_eq!(of("base_url", address), Ok(preset), "{address}");
        }
    }

    #[test]
    fn an_option_says_it_where_the_address_does_not() {
        for (name, preset) in NAMES {
            assert_eq!(of("preset", name), Ok(preset));
        }
        assert!(of("preset", "llama").expect_err("refused").contains("llamacpp"));
    }
}
