//! What each fault has to come to.

use homeagent_providers::SourceStanding::{self, CoolingDown, Disabled, Ready, Unfunded};
use homeagent_test_vendors::{Fault, Format};

/// What people get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gets {
    /// The answer of the very source: the fault does no harm.
    Answer,
    /// A sentence; with another source, that one's answer.
    Sentence,
    /// An answer without words, of which the agent says so; with another source, that one's answer.
    Nothing,
    /// Words of the model's own that are no proper answer, such as a refusal. No other source is asked.
    Words,
    /// The source is never done. Whoever asked has to end it, as the agent does when a turn has taken its time.
    Ended,
}

use Gets::{Answer, Ended, Nothing, Sentence, Words};

/// What is to come of a fault, and how the source stands afterwards.
pub(crate) fn expected(format: Format, fault: Fault) -> (Gets, SourceStanding) {
    match (fault, format) {
        // The account and the key.
        (Fault::Unauthorized | Fault::KeyForbidden, _) => (Sentence, Disabled),
        (Fault::Unpaid, _) => (Sentence, Unfunded),
        // Wrong requests, whoever sends them; and what says nothing of the source.
        (Fault::RegionForbidden | Fault::NoSuchModel | Fault::TooLong, _) => (Sentence, Ready),
        // There one word stands for what the model refuses and for what a filter does.
        (Fault::AnswerFiltered, Format::Anthropic) => (Words, Ready),
        // There is no filter there, so that nothing is left.
        (Fault::AnswerFiltered, Format::Ollama) => (Nothing, Ready),
        (Fault::PromptFiltered | Fault::AnswerFiltered, _) => (Sentence, Ready),
        // Trouble that passes.
        (Fault::RateLimited | Fault::RateLimitedForNow | Fault::ServerError | Fault::Overloaded, _) => {
            (Sentence, CoolingDown)
        }
        // The wire.
        (Fault::NoFirstByte | Fault::Stall | Fault::Reset | Fault::Truncated | Fault::CutShort, _) => {
            (Sentence, CoolingDown)
        }
        (Fault::WebPage | Fault::NoBody | Fault::ErrorInStream, _) => (Sentence, CoolingDown),
        (Fault::Trickle | Fault::Mislabelled | Fault::Duplicates, _) => (Answer, Ready),
        (Fault::KeepAlives, _) => (Ended, Ready),
        (Fault::Endless, _) => (Sentence, CoolingDown),
        // The model.
        (Fault::Empty, _) => (Nothing, Ready),
        // There the vendor refuses in the model's place.
        (Fault::Refusal, Format::Gemini) => (Sentence, Ready),
        (Fault::Refusal, _) => (Words, Ready),
        // Where the vendor reads the arguments itself, it fails at them itself.
        (Fault::BrokenCall, Format::Ollama | Format::Gemini) => (Sentence, CoolingDown),
        (Fault::BrokenCall, _) => (Words, Ready),
    }
}

/// Whether the same source is asked again soon, since the trouble may have passed.
pub(crate) fn passes(fault: Fault) -> bool {
    matches!(
        fault,
        Fault::RateLimitedForNow
            | Fault::ServerError
            | Fault::Overloaded
            | Fault::Reset
            | Fault::CutShort
            | Fault::ErrorInStream
    )
}
