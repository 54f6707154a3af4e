//! What the rehearsal says, in the language it was spoken to.

use homeagent_sdk::adapter::ToolSpec;

const ADD: &str = "waiter source add deepseek --adapter deepseek --key-env DEEPSEEK_API_KEY";

/// The languages it knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Language {
    Chinese,
    English,
}

impl Language {
    /// Chinese, if there is a Chinese character.
    pub(crate) fn of(text: &str) -> Self {
        let chinese =
            |c: char| matches!(c, '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{20000}'..='\u{2fa1f}');
        if text.chars().any(chinese) { Language::Chinese } else { Language::English }
    }

    fn pick(self, chinese: String, english: String) -> String {
        match self {
            Language::Chinese => chinese,
            Language::English => english,
        }
    }

    /// The answer to anything that is no command.
    pub(crate) fn greeting(self, heard: &str) -> String {
        let heard = shortened(heard.trim(), 80);
        self.pick(
            format!(
                "你好！你说的是：“{heard}”。我还没有接上真正的模型，这里是排练模式，只会照着小剧本回答。\n\
                 接上模型（以 DeepSeek 为例）：\n  {ADD}\n\
                 想先试试别的，输入 /tools 看看有哪些工具，或者 /say 5 你好。"
            ),
            format!(
                "Hello! You said: \"{heard}\". No real model is connected yet; this is the rehearsal, which only follows \
                 a small script.\nTo connect one (DeepSeek, for example):\n  {ADD}\n\
                 To try other things first, type /tools to see the tools there are, or /say 5 hello."
            ),
        )
    }

    /// The answer to a command it does not know.
    pub(crate) fn help(self) -> String {
        self.pick(
            format!(
                "这里是排练模式。它懂得：\n\
                 /tools - 列出工具\n\
                 /tool 名字 {{\"参数\": 1}} - 调用工具；几行就是几个调用\n\
                 /say 次数 文字 - 一遍遍地说，可以试试 Ctrl-C\n\
                 /think 文字 - 先想一想\n\
                 接上真正的模型：\n  {ADD}"
            ),
            format!(
                "This is the rehearsal. It understands:\n\
                 /tools - lists the tools\n\
                 /tool NAME {{\"argument\": 1}} - calls a tool; several lines are several calls\n\
                 /say N TEXT - says it again and again, for trying Ctrl-C\n\
                 /think TEXT - thinks first\n\
                 To connect a real model:\n  {ADD}"
            ),
        )
    }

    /// The answer after a thought.
    pub(crate) fn thought(self) -> String {
        self.pick("我想好了。".to_owned(), "I have thought about it.".to_owned())
    }

    /// The list of tools.
    pub(crate) fn tools(self, tools: &[ToolSpec]) -> String {
        if tools.is_empty() {
            return self.pick("现在没有工具。".to_owned(), "There are no tools now.".to_owned());
        }
        let mut list = self.pick(format!("有 {} 个工具：", tools.len()), format!("There are {} tools:", tools.len()));
        for tool in tools {
            let about = tool.description.lines().next().unwrap_or_default();
            list.push_str(&format!("\n- {}: {}", tool.name, shortened(about, 120)));
        }
        list
    }

    /// What a tool answered.
    pub(crate) fn result(self, name: &str, result: &str, failed: bool) -> String {
        let result = shortened(bare(result.trim()), 2000);
        match (failed, result.is_empty()) {
            (false, true) => self.pick(format!("工具 {name} 办好了。"), format!("The tool {name} is done.")),
            (false, false) => {
                self.pick(format!("工具 {name} 回答：{result}"), format!("The tool {name} answered: {result}"))
            }
            (true, true) => self.pick(format!("工具 {name} 失败了。"), format!("The tool {name} failed.")),
            (true, false) => {
                self.pick(format!("工具 {name} 失败了：{result}"), format!("The tool {name} failed: {result}"))
            }
        }
    }
}

/// A tool's result without the marks that the agent puts around it.
fn bare(result: &str) -> &str {
    let marked = result.strip_prefix("<data from=").and_then(|rest| rest.split_once('>'));
    let inner = marked.and_then(|(_, rest)| rest.strip_suffix("</data>"));
    inner.map_or(result, str::trim)
}

fn shortened(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
