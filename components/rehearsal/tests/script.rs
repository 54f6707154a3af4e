//! Tests of the script.

use homeagent_sdk::adapter::{
    Adapter, AssistantMessage, ContentPart, Delta, FinishReason, Message, ModelRequest, ToolCallDelta, ToolChoice,
    ToolMessage, ToolSpec,
};
use rehearsal::Rehearsal;

fn ask(mut messages: Vec<Message>) -> (String, String, Vec<ToolCallDelta>) {
    // What the agent recalls comes last.
    messages.push(Message::System("It is noon. 现在是中午。".to_owned()));
    let tool = ToolSpec { name: "calc".to_owned(), description: "Computes.".to_owned(), parameters: String::new() };
    let request = ModelRequest {
        model: "rehearsal".to_owned(),
        messages,
        tools: vec![tool],
        tool_choice: ToolChoice::Auto,
        temperature: None,
        max_tokens: None,
        thinking: None,
        stream: true,
        options: Vec::new(),
    };
    let (mut text, mut reasoning, mut calls, mut finish) = (String::new(), String::new(), Vec::new(), None);
    for piece in Rehearsal::rehearse(request) {
        match piece.delta {
            Delta::Text(piece) => text.push_str(&piece),
            Delta::Reasoning(piece) => reasoning.push_str(&piece),
            Delta::ToolCall(call) => calls.push(call),
            Delta::Finish(reason) => finish = Some(reason),
            other => panic!("{other:?}"),
        }
    }
    let calls_tools = matches!(finish.expect("it finishes"), FinishReason::ToolCalls);
    assert_eq!(calls_tools, !calls.is_empty());
    (text, reasoning, calls)
}

fn said(text: &str) -> Message {
    Message::User(vec![ContentPart::Text(text.to_owned())])
}

#[test]
fn it_greets_in_the_language_it_was_spoken_to() {
    let (english, ..) = ask(vec![said("Good morning")]);
    assert!(english.contains("rehearsal") && english.contains("Good morning"), "{english}");
    let (chinese, ..) = ask(vec![said("早上好")]);
    assert!(chinese.contains("排练") && chinese.contains("早上好"), "{chinese}");
    for text in [english, chinese] {
        assert!(text.contains("waiter source add deepseek --adapter deepseek --key-env DEEPSEEK_API_KEY"), "{text}");
    }
}

#[test]
fn it_calls_tools_and_tells_their_results() {
    let line = "/tool calc {\"expression\": \"1 + 1\"}\n/tool timer_list\n";
    let (text, _, calls) = ask(vec![said(line)]);
    assert!(text.is_empty());
    let names: Vec<_> = calls.iter().map(|call| (call.name.clone().expect("named"), call.arguments.clone())).collect();
    let expected = [("calc", "{\"expression\": \"1 + 1\"}"), ("timer_list", "{}")];
    assert_eq!(names, expected.map(|(name, arguments)| (name.to_owned(), arguments.to_owned())));
    assert_ne!(calls[0].id, calls[1].id);
    let result = |name: &str, text: &str, failed| {
        Message::Tool(ToolMessage {
            call: "x".to_owned(),
            name: name.to_owned(),
            content: vec![ContentPart::Text(text.to_owned())],
            failed,
        })
    };
    let silent = || {
        Message::Assistant(AssistantMessage {
            text: String::new(),
            reasoning: String::new(),
            tool_calls: Vec::new(),
            opaque: Vec::new(),
        })
    };
    let marked = "<data from=\"calc\">\n2\n</data>";
    let window =
        vec![said(line), silent(), result("calc", marked, false), result("timer_list", "no timers here", true)];
    let (text, ..) = ask(window);
    assert_eq!(text, "The tool calc answered: 2\nThe tool timer_list failed: no timers here");
    // A new message after the results is answered by itself.
    let (text, ..) = ask(vec![said(line), silent(), result("calc", "2", false), said("/say 1 thanks")]);
    assert_eq!(text, "thanks");
}

#[test]
fn its_commands_do_what_they_say() {
    assert_eq!(ask(vec![said("/say 3 tea")]).0, "tea tea tea");
    assert_eq!(ask(vec![said("[打断消息] /say 1 tea")]).0, "tea", "an interrupt is a message like any other");
    assert_eq!(ask(vec![said("/think 想想看")]).1, "想想看");
    assert!(ask(vec![said("/tools")]).0.contains("- calc: Computes."));
    assert_eq!(ask(vec![said("[12:00] 小明: /say 2 茶")]).0, "茶 茶");
    for unknown in ["/dance", "/say", "/say many x", "/say 0 x", "/tool", "/think"] {
        assert!(ask(vec![said(unknown)]).0.contains("/tool NAME"), "{unknown}");
    }
    assert!(ask(vec![said("see https://example.org/tools now")]).0.starts_with("Hello"));
    assert_eq!(ask(Vec::new()).2.len(), 0);
}
