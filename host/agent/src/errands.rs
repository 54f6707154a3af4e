//! What due timers have done for those who set them.

use homeagent_types::{CallError, Conversation, Denial, Errand, Input, Meta, Role, ToolCall, now};

/// What begins the names of marks that the host alone sets.
const OWN: &str = "homeagent.";

/// Marks an input as the errand of a timer that the host knows to be due.
const ERRAND: &str = "homeagent.errand";

/// Marks an errand whose words, or what is read with them, others may have written.
const FOREIGN: &str = "homeagent.foreign";

/// The most that a timer's claim may be called, in bytes.
const LONGEST_CLAIM: usize = 256;

/// How an errand begins that calls a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Order {
    pub(crate) call: ToolCall,
    /// The result is the answer, without the model.
    pub(crate) as_it_is: bool,
}

/// Makes an input of an errand, and says what it is the claim of.
pub(crate) fn input(source: &str, errand: Errand) -> Result<(Input, String), CallError> {
    let Errand { cause, to, submission, .. } = errand;
    let claim = submission.platform_id.filter(|claim| (1..=LONGEST_CLAIM).contains(&claim.len())).ok_or_else(|| {
        CallError::Invalid(format!(
            "an errand needs a platform-id of 1 to {LONGEST_CLAIM} bytes, so that it is taken once"
        ))
    })?;
    let elsewhere = to.filter(|to| Some(to) != cause.conversation.as_ref());
    // Elsewhere it stands among the words of somebody else.
    let foreign = cause.is_foreign() || elsewhere.is_some();
    let (conversation, audience) = match (elsewhere, cause.conversation) {
        (Some(to), _) if cause.principal.role != Role::Owner => return Err(not_theirs(&to)),
        (Some(to), _) => (to.clone(), to.audience()),
        (None, Some(own)) => (own, cause.audience),
        (None, None) => {
            let reason = "the timer was set in no conversation, so it has to be said where its errand goes";
            return Err(CallError::Invalid(reason.to_owned()));
        }
    };
    let mut meta = without_marks(submission.meta);
    meta.push((ERRAND.to_owned(), claim.clone()));
    if foreign {
        meta.push((FOREIGN.to_owned(), "true".to_owned()));
    }
    let input = Input {
        id: uuid::Uuid::now_v7().to_string(),
        source: source.to_owned(),
        conversation,
        audience,
        principal: cause.principal,
        kind: "timer".to_owned(),
        payload: submission.payload,
        media: submission.media,
        reply_route: None,
        received_at: now(),
        meta,
    };
    Ok((input, claim))
}

fn not_theirs(to: &Conversation) -> CallError {
    CallError::Denied(Denial {
        capability: "role owner".to_owned(),
        attempt: format!("a timer was to speak in {to}, where it was not set"),
        remedy: "only a timer of the owner's may; the owner can change roles".to_owned(),
    })
}

/// What a plugin says of an input, without what the host alone may say.
pub(crate) fn without_marks(mut meta: Meta) -> Meta {
    meta.retain(|(key, _)| !key.starts_with(OWN));
    meta
}

/// Whether this comes of a timer that the host knows to be due.
pub(crate) fn is_errand(input: &Input) -> bool {
    said(input, ERRAND).is_some()
}

/// Whether others may have written what it says, or what is read with it.
pub(crate) fn is_foreign(input: &Input) -> bool {
    said(input, FOREIGN).is_some()
}

/// Whether it is one that can't wait.
pub(crate) fn is_urgent(input: &Input) -> bool {
    is_errand(input) && said(input, "urgent") == Some("true")
}

/// The tool that an errand begins with.
pub(crate) fn order(input: &Input) -> Option<Order> {
    let name = said(input, "tool").filter(|_| is_errand(input))?;
    let arguments = said(input, "arguments").unwrap_or("{}").to_owned();
    let call = ToolCall { id: "timer".to_owned(), name: name.to_owned(), arguments };
    Some(Order { call, as_it_is: said(input, "report") == Some("result") })
}

fn said<'a>(input: &'a Input, name: &str) -> Option<&'a str> {
    input.meta.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
}
