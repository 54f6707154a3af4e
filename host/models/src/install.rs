//! Into the folder of models: beside it first, tried there, and put in its place whole.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use homeagent_language::embed::{
    CARD, GRAPH, ModelFolder, Places, Purpose, StaticVectors, TOKENIZER_FILES, open_model,
};
use homeagent_types::CallError;
use homeagent_types::embedding::{InstalledFile, InstalledModel};
use sha2::{Digest as _, Sha256};

use crate::{is_reserved, unusable};

/// What a model that is not yet in its place has at its end.
const PARTIAL: &str = ".partial";

/// Copies a model's folder, or a file of word vectors.
pub(crate) fn from_disk(from: &Path, models: &Path) -> Result<InstalledModel, CallError> {
    if let Some(vectors) = StaticVectors::of(from).filter(|_| from.is_file()) {
        return words(from, &vectors.name, models);
    }
    let folder = ModelFolder::open(from).map_err(unusable)?;
    check_name(&folder.name, models)?;
    let partial = partial(&folder.name, models)?;
    for file in files(&folder) {
        let name = file.file_name().unwrap_or_default();
        fs::copy(&file, partial.join(name)).map_err(|error| not_stored(&partial, &error))?;
    }
    finish(&folder.name, &partial, models)
}

/// The files that make a model.
pub(crate) fn files(folder: &ModelFolder) -> Vec<PathBuf> {
    let names = std::iter::once(GRAPH).chain(TOKENIZER_FILES).chain([CARD]);
    names.map(|name| folder.path.join(name)).filter(|file| file.is_file()).collect()
}

/// Refuses a name that can't be a model's, or is one's already.
pub(crate) fn check_name(name: &str, models: &Path) -> Result<(), CallError> {
    let plain = |character: char| character.is_alphanumeric() || "._-".contains(character);
    if is_reserved(name) || name.is_empty() || name.starts_with('.') || !name.chars().all(plain) {
        return Err(CallError::Invalid(format!(
            "a model can't be called \"{name}\"; rename it: letters, digits, dots, hyphens and underscores"
        )));
    }
    if models.join(name).exists() {
        let path = models.join(name);
        return Err(CallError::Conflict(format!("{} is there already; remove it first", path.display())));
    }
    Ok(())
}

/// An empty folder for a model that is being put together; what an attempt before left there is gone.
pub(crate) fn partial(name: &str, models: &Path) -> Result<PathBuf, CallError> {
    let partial = models.join(format!(".{name}{PARTIAL}"));
    let made = match fs::remove_dir_all(&partial) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => fs::create_dir_all(&partial),
    };
    made.map_err(|error| not_stored(&partial, &error))?;
    Ok(partial)
}

/// Opens a model that was put together, has it make a vector, and puts it in its place. What does not serve goes.
pub(crate) fn finish(name: &str, partial: &Path, models: &Path) -> Result<InstalledModel, CallError> {
    let done = check_and_place(name, partial, models);
    if done.is_err() {
        // It is large, and of no use.
        let _ = fs::remove_dir_all(partial);
    }
    done
}

fn check_and_place(name: &str, partial: &Path, models: &Path) -> Result<InstalledModel, CallError> {
    let folder = ModelFolder::open(partial).map_err(unusable)?;
    let dimensions = try_it(&folder, models)?;
    let files = files(&folder).iter().map(|file| described(file)).collect::<io::Result<Vec<_>>>();
    let files = files.map_err(|error| not_stored(partial, &error))?;
    let path = models.join(name);
    let placed = fs::rename(partial, &path).and_then(|()| File::open(models)?.sync_all());
    placed.map_err(|error| not_stored(&path, &error))?;
    Ok(InstalledModel { name: name.to_owned(), path: path.display().to_string(), dimensions: Some(dimensions), files })
}

/// Has a model make a vector; how long that is.
fn try_it(folder: &ModelFolder, models: &Path) -> Result<usize, CallError> {
    let places = Places { named: None, models: Some(models.to_owned()) };
    let embedder = open_model(folder, &places, 1).map_err(unusable)?;
    let runtime = tokio::runtime::Handle::current();
    let texts = vec!["Where is the umbrella? 雨伞在哪里？".to_owned()];
    let made = runtime.block_on(embedder.embed(Purpose::Query, texts)).map_err(unusable)?;
    Ok(made.first().map_or(0, Vec::len))
}

/// Copies a file of word vectors. Its table is made when it is loaded.
fn words(from: &Path, name: &str, models: &Path) -> Result<InstalledModel, CallError> {
    check_name(name, models)?;
    let file = from.file_name().unwrap_or_default();
    let (path, partial) = (models.join(file), models.join(format!(".{name}{PARTIAL}")));
    if path.exists() {
        return Err(CallError::Conflict(format!("{} is there already; remove it first", path.display())));
    }
    let copied = fs::create_dir_all(models)
        .and_then(|()| fs::copy(from, &partial))
        .and_then(|_| fs::rename(&partial, &path))
        .and_then(|()| described(&path));
    if copied.is_err() {
        let _ = fs::remove_file(&partial);
    }
    let files = vec![copied.map_err(|error| not_stored(&path, &error))?];
    Ok(InstalledModel { name: name.to_owned(), path: path.display().to_string(), dimensions: None, files })
}

/// A file with its size and digest, once it is on the disk.
fn described(path: &Path) -> io::Result<InstalledFile> {
    let mut file = File::open(path)?;
    file.sync_all()?;
    let (mut sum, mut bytes) = (Sha256::new(), 0);
    let mut piece = vec![0; 1 << 16];
    loop {
        let read = file.read(&mut piece)?;
        if read == 0 {
            break;
        }
        sum.write_all(&piece[..read])?;
        bytes += read as u64;
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let sha256 = sum.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(InstalledFile { name, bytes, sha256 })
}

pub(crate) fn not_stored(path: &Path, error: &io::Error) -> CallError {
    CallError::NotStored(format!("{}: {error}; check the space on the disk, and whose the folder is", path.display()))
}
