//! The problems that operations answer with, as sets that the operations name.

use std::collections::BTreeMap;

use utoipa::IntoResponses;
use utoipa::openapi::header::HeaderBuilder;
use utoipa::openapi::schema::{ObjectBuilder, Type};
use utoipa::openapi::{ContentBuilder, Ref, RefOr, Response, ResponseBuilder};

/// Declares sets of responses, each a type that `#[utoipa::path]` takes among an operation's responses.
macro_rules! problems {
    ($($(#[$doc:meta])* $name:ident { $($status:literal: $description:literal),+ $(,)? })+) => {$(
        $(#[$doc])*
        pub(crate) enum $name {}

        impl IntoResponses for $name {
            fn responses() -> BTreeMap<String, RefOr<Response>> {
                BTreeMap::from([$(problem($status, $description)),+])
            }
        }
    )+};
}

problems! {
    /// Nothing of that name.
    NotFound { 404: "There is nothing of that name" }

    /// What is asked contradicts how things are.
    Conflict { 409: "How things are forbids it; the detail says why" }

    /// What is asked can't be.
    Invalid { 422: "What is asked can't be; the detail says what can" }

    /// The operation asks a vendor.
    VendorFailures {
        502: "The vendor did not answer with what was asked for; the detail says what happened",
        504: "The vendor took too long",
    }

    /// The operation needs the agent.
    AgentStopped { 503: "The agent is stopped, or what is asked for is busy for a moment" }

    /// The operation reads or writes the database.
    DiskFailures {
        503: "The database is busy for a moment",
        507: "The disk is full",
    }

    /// The operation calls a plugin, an adapter or the agent.
    CallFailures {
        403: "A page of another site asks, or a grant or a role is missing; the hint says what to do",
        404: "There is nothing of that name",
        422: "The callee does not take what it was given",
        429: "Too many calls wait",
        503: "The agent is stopped, or the callee is not there at the moment",
        504: "The callee took too long",
        507: "The disk does not take it",
    }

    /// What every operation can answer.
    EveryOperation {
        400: "The request can't be read",
        403: "A page of another site asks",
        414: "The path with its query is too long",
        421: "The Host header is none of the daemon's names",
        431: "The headers are too many, or too long together",
        500: "Something failed that is not the client's doing; the log says more",
        503: "The connection was closed to make room for another",
    }

    /// What every operation that needs the token can answer.
    WithToken { 401: "There is no token, or it is not this daemon's" }

    /// What every operation that reads a body can answer.
    WithBody {
        408: "The body took too long to arrive",
        413: "The body is too large",
    }

    /// What every operation that reads a body of one type can answer.
    WithType { 415: "The body is said to be of another type, or of none; the hint says which to send" }
}

fn problem(status: u16, description: &str) -> (String, RefOr<Response>) {
    let schema = Ref::from_schema_name("Problem");
    let content = ContentBuilder::new().schema(Some(schema)).build();
    let response = ResponseBuilder::new().description(description).content("application/problem+json", content);
    let response = match status {
        401 => response.header("WWW-Authenticate", header(Type::String, "Says that a bearer token is asked for")),
        429 | 503 => response.header("Retry-After", header(Type::Integer, "When to try again, in seconds")),
        _ => response,
    };
    (status.to_string(), RefOr::T(response.build()))
}

fn header(kind: Type, description: &str) -> utoipa::openapi::Header {
    HeaderBuilder::new()
        .schema(Some(ObjectBuilder::new().schema_type(kind).build()))
        .description(Some(description))
        .build()
}
