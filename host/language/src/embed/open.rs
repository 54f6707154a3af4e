//! From a folder to an embedder at work.

use std::path::Path;
use std::sync::Arc;

use super::folder::ModelFolder;
use super::onnx::{self, OnnxSession};
use super::pool::Pool;
use super::runtime::{Places, Runtime};
use super::session::Session;
use super::tract::{self, TractSession};
use super::{EmbedError, Embedder};

/// Opens the model in a folder, with one session: by ONNX Runtime where it is found in the environment, beside the folder
/// or on the system, else in Rust alone. Slow: not for a thread that serves others.
pub fn open_folder(path: &Path) -> Result<Arc<dyn Embedder>, EmbedError> {
    let places = Places { named: None, models: path.parent().map(Path::to_owned) };
    open_model(&ModelFolder::open(path)?, &places, 1)
}

/// Opens a model with so many sessions, each on a thread of its own. Where no ONNX Runtime can be loaded and the model
/// can't be run without, the error says both. Slow.
pub fn open_model(folder: &ModelFolder, places: &Places, sessions: usize) -> Result<Arc<dyn Embedder>, EmbedError> {
    match Runtime::load(places) {
        Ok(_) => at_work(folder, onnx::KIND, sessions, || Ok(Box::new(OnnxSession::open(folder)?))),
        Err(missing) => open_in_rust(folder, sessions).map_err(|error| EmbedError(format!("{error} {missing}"))),
    }
}

/// Opens a model without ONNX Runtime. Slow, and so are its vectors.
pub fn open_in_rust(folder: &ModelFolder, sessions: usize) -> Result<Arc<dyn Embedder>, EmbedError> {
    at_work(folder, tract::KIND, sessions, || Ok(Box::new(TractSession::open(folder)?)))
}

fn at_work(
    folder: &ModelFolder,
    kind: &str,
    sessions: usize,
    open: impl Fn() -> Result<Box<dyn Session>, EmbedError>,
) -> Result<Arc<dyn Embedder>, EmbedError> {
    let mut first = open()?;
    let dimensions = first.encode(&["a".to_owned()])?.first().map_or(0, Vec::len);
    if dimensions == 0 {
        return Err(EmbedError(format!("{} makes vectors without a single number.", folder.path.display())));
    }
    let mut all = vec![first];
    for _ in 1..sessions {
        all.push(open()?);
    }
    let identity = folder.identity(kind, dimensions)?;
    let usage = folder.usage.clone();
    Ok(Arc::new(Pool::start(identity, Box::new(move |purpose, text| usage.prepare(purpose, text)), all)?))
}
