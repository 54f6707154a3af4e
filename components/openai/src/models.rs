//! What the name of a model says.

use homeagent_adapters::completions;

/// A model, known by its name without the vendor in front of it.
#[derive(Debug)]
pub(crate) struct Model {
    name: String,
    /// The least effort it can be told to think with, if it is a reasoning model of OpenAI's.
    pub(crate) least_effort: Option<&'static str>,
}

impl Model {
    pub(crate) fn of(model: &str) -> Self {
        let name = model.rsplit('/').next().unwrap_or_default().to_lowercase();
        let least_effort = completions::least_effort(&name);
        Model { name, least_effort }
    }

    /// It is of a family.
    pub(crate) fn is(&self, family: &str) -> bool {
        self.name.starts_with(family)
    }

    pub(crate) fn begins(&self, families: &[&str]) -> bool {
        families.iter().any(|family| self.is(family))
    }

    pub(crate) fn has(&self, words: &[&str]) -> bool {
        words.iter().any(|word| self.name.contains(word))
    }

    /// A reasoning model of OpenAI's, which takes no temperature.
    pub(crate) fn reasons(&self) -> bool {
        self.least_effort.is_some()
    }

    /// The version of a GPT: `gpt-5.4-mini`, `gpt-6-luna`.
    pub(crate) fn gpt(&self) -> Option<f64> {
        completions::version(self.name.strip_prefix("gpt-")?)
    }

    /// The version of a Kimi: `kimi-k2.6`, `kimi-k3.1-pro`.
    pub(crate) fn kimi(&self) -> Option<f64> {
        completions::version(self.name.strip_prefix("kimi-k")?)
    }

    /// The version of a GLM: `glm-4.6v-flash`, `glm-5.3`.
    pub(crate) fn glm(&self) -> Option<f64> {
        completions::version(self.name.strip_prefix("glm-")?)
    }

    /// `glm-4.6v-flash` sees, `glm-4.7-flash` does not.
    pub(crate) fn glm_sees(&self) -> bool {
        completions::glm_sees(&self.name)
    }

    /// `deepseek-v4-flash` sees at the vendor's, `deepseek-v4-pro` does not.
    pub(crate) fn deepseek_sees(&self) -> bool {
        completions::deepseek_sees(&self.name)
    }

    /// `qwen-vl-max` and `qwen3.7-plus` see, `qwen-plus` and `qwen3.7-max` read.
    pub(crate) fn qwen_sees(&self) -> bool {
        completions::qwen_sees(&self.name)
    }

    /// `qwen3-omni-flash` hears.
    pub(crate) fn qwen_hears(&self) -> bool {
        completions::qwen_hears(&self.name)
    }

    /// It thinks or does not, as it is told, where others of its family do one of both.
    pub(crate) fn is_hybrid(&self) -> bool {
        let settled = self.has(&["instruct", "thinking", "coder", "2507", "embedding", "reranker"]);
        let deepseek =
            self.name.strip_prefix("deepseek-v").and_then(completions::version).is_some_and(|version| version >= 3.1);
        let qwen = self.name.strip_prefix("qwen").and_then(completions::version).is_some_and(|version| version >= 3.0);
        let glm = self.glm().is_some_and(|version| version >= 4.5);
        let kimi = self.kimi().is_some_and(|version| version >= 2.5);
        !settled && (deepseek || qwen || glm || kimi || self.begins(&["hunyuan-a13b", "deepseek-flash"]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_what_models_are() {
        assert_eq!(Model::of("kimi-k3.1-pro").kimi(), Some(3.1));
        assert_eq!(Model::of("moonshotai/Kimi-K2.6").kimi(), Some(2.6));
        assert_eq!(Model::of("glm-4.6v-flash").glm(), Some(4.6));
        assert_eq!(Model::of("kimi-latest").kimi(), None);
        assert_eq!((Model::of("gpt-5.4-mini").gpt(), Model::of("gpt-4o").gpt()), (Some(5.4), Some(4.0)));
        for (name, hybrid) in [
            ("Qwen/Qwen3-8B", true),
            ("Qwen/Qwen3-30B-A3B-Instruct-2507", false),
            ("Qwen/Qwen2.5-7B-Instruct", false),
            ("deepseek-ai/DeepSeek-V3.2", true),
            ("deepseek-ai/DeepSeek-V3", false),
            ("deepseek-ai/DeepSeek-V4-Flash", true),
            ("deepseek-flash", true),
            ("deepseek-ai/DeepSeek-R1", false),
            ("zai-org/GLM-4.6", true),
        ] {
            assert_eq!(Model::of(name).is_hybrid(), hybrid, "{name}");
        }
    }
}
