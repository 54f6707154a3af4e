//! What can go wrong with a vendor.

/// What a vendor does in the place of a good answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The key is refused.
    Unauthorized,
    /// The account has no money.
    Unpaid,
    /// The key may not do this.
    KeyForbidden,
    /// Nobody from here may do this.
    RegionForbidden,
    /// Too many requests; come back in two minutes.
    RateLimited,
    /// Too many requests, without a word of when to come back.
    RateLimitedForNow,
    /// The vendor has an error of its own.
    ServerError,
    /// The vendor is overloaded.
    Overloaded,
    /// The model does not exist.
    NoSuchModel,
    /// The conversation is too long for the model.
    TooLong,
    /// A filter refuses the prompt.
    PromptFiltered,
    /// The request is taken, and nothing follows.
    NoFirstByte,
    /// The answer is whole and comes byte by byte.
    Trickle,
    /// Half of the answer comes, then nothing.
    Stall,
    /// The vendor says for ever that it is alive, and nothing else.
    KeepAlives,
    /// Half of the answer comes, then the connection is reset.
    Reset,
    /// The answer ends within an event.
    Truncated,
    /// The answer ends where it should not, between two events.
    CutShort,
    /// A web page comes instead of an answer.
    WebPage,
    /// The answer is said to be of another type than it is.
    Mislabelled,
    /// The text never ends.
    Endless,
    /// Events come twice that say nothing new then, and behind an end that says so the whole answer once more.
    Duplicates,
    /// An answer with nothing in it.
    Empty,
    /// No body at all.
    NoBody,
    /// The model refuses.
    Refusal,
    /// A filter cuts the answer.
    AnswerFiltered,
    /// The arguments of a call are no JSON.
    BrokenCall,
    /// An error is told in the middle of the stream.
    ErrorInStream,
}

impl Fault {
    /// All of them.
    pub const ALL: [Fault; 28] = [
        Fault::Unauthorized,
        Fault::Unpaid,
        Fault::KeyForbidden,
        Fault::RegionForbidden,
        Fault::RateLimited,
        Fault::RateLimitedForNow,
        Fault::ServerError,
        Fault::Overloaded,
        Fault::NoSuchModel,
        Fault::TooLong,
        Fault::PromptFiltered,
        Fault::NoFirstByte,
        Fault::Trickle,
        Fault::Stall,
        Fault::KeepAlives,
        Fault::Reset,
        Fault::Truncated,
        Fault::CutShort,
        Fault::WebPage,
        Fault::Mislabelled,
        Fault::Endless,
        Fault::Duplicates,
        Fault::Empty,
        Fault::NoBody,
        Fault::Refusal,
        Fault::AnswerFiltered,
        Fault::BrokenCall,
        Fault::ErrorInStream,
    ];
}
