//! Signatures of thoughts, which have to go back on the very part they came with.
//!
//! A message is kept as one text, one list of calls and blobs, so a blob's kind says where its signature stood:
//! `signature/call/1` on the second call, `signature/text/5/6` on the six bytes of the text from the fifth on.

use homeagent_adapters::Answer;
use homeagent_sdk::adapter::Opaque;

const CALL: &str = "signature/call/";
const TEXT: &str = "signature/text/";

/// Takes the place of a signature on calls that the model did not make itself; the vendor tells of it for histories of
/// other models.
pub(crate) const FOREIGN: &str = "skip_thought_signature_validator";

/// Tells of a signature on a call.
pub(crate) fn tell_call(place: u32, signature: &str, answer: &mut Answer) {
    answer.opaque(format!("{CALL}{place}"), signature);
}

/// Tells of a signature on a piece of the text.
pub(crate) fn tell_text(start: usize, bytes: usize, signature: &str, answer: &mut Answer) {
    answer.opaque(format!("{TEXT}{start}/{bytes}"), signature);
}

/// The signature of the call at this place.
pub(crate) fn of_call(opaque: &[Opaque], place: usize) -> Option<&str> {
    let here = |blob: &&Opaque| blob.kind.strip_prefix(CALL).is_some_and(|at| at == place.to_string());
    opaque.iter().find(here).map(|blob| blob.value.as_str())
}

/// The text in pieces, each with its signature. Where the text is no longer that which was signed, the signatures follow
/// it on empty pieces.
pub(crate) fn of_text<'a>(opaque: &'a [Opaque], text: &'a str) -> Vec<(&'a str, Option<&'a str>)> {
    let mut pieces = Vec::new();
    let mut done = 0;
    for blob in opaque {
        let Some(place) = blob.kind.strip_prefix(TEXT) else { continue };
        let range = place.split_once('/').and_then(|(start, bytes)| Some((start.parse().ok()?, bytes.parse().ok()?)));
        let signed = range.and_then(|(start, bytes): (usize, usize)| {
            let end = start.checked_add(bytes)?;
            Some((text.get(done..start)?, text.get(start..end)?, end))
        });
        let signature = Some(blob.value.as_str());
        match signed {
            Some((before, piece, end)) => {
                pieces.push((before, None));
                pieces.push((piece, signature));
                done = end;
            }
            None => {
                pieces.push((text.get(done..).unwrap_or_default(), None));
                pieces.push(("", signature));
                done = text.len();
            }
        }
    }
    pieces.push((text.get(done..).unwrap_or_default(), None));
    pieces.retain(|(piece, signature)| !piece.is_empty() || signature.is_some());
    pieces
}
