//! An answer in the shape in which recorded cases write it down, for `waiter adapter try` and the tests.

use homeagent_types::model::{AssistantAnswer, FinishReason, Opaque, Usage};
use serde::Serialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;

/// An answer as the cases' `expected.json` has it.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = AssembledMessage)]
pub struct CaseAnswer {
    text: String,
    reasoning: String,
    tool_calls: Vec<CaseCall>,
    finish: Option<FinishReason>,
    usage: Option<Usage>,
    /// The class of the failure.
    error: Option<&'static str>,
    /// The failure in words; cases do not look at it.
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking_signature: Option<String>,
}

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = AssembledCall)]
struct CaseCall {
    id: String,
    name: String,
    /// As JSON with every digit kept; as a text where it is no JSON.
    #[schema(value_type = serde_json::Value)]
    arguments: Box<RawValue>,
}

impl From<AssistantAnswer> for CaseAnswer {
    fn from(answer: AssistantAnswer) -> Self {
        let tool_calls = answer.tool_calls.into_iter().map(|call| CaseCall {
            id: call.id,
            name: call.name,
            arguments: RawValue::from_string(call.arguments.clone())
                .or_else(|_| serde_json::value::to_raw_value(&call.arguments))
                .unwrap_or_default(),
        });
        CaseAnswer {
            text: answer.text,
            reasoning: answer.reasoning,
            tool_calls: tool_calls.collect(),
            finish: answer.finish,
            usage: answer.usage,
            thinking_signature: signature(&answer.opaque),
            error: answer.error.as_ref().map(|failure| failure.class.as_str()),
            message: answer.error.map(|failure| failure.message),
        }
    }
}

/// The value of the first blob that says it is a thinking signature.
fn signature(opaque: &[Opaque]) -> Option<String> {
    opaque.iter().find(|blob| blob.kind.contains("signature")).map(|blob| blob.value.clone())
}
