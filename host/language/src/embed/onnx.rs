//! Sentence models by ONNX Runtime, through fastembed, which tokenises and pools.

use std::panic::{AssertUnwindSafe, catch_unwind};

use fastembed::{
    InitOptionsUserDefined, OutputKey, Pooling as Pool, SingleBatchOutput, TextEmbedding, TokenizerFiles,
    UserDefinedEmbeddingModel,
};

use memchr::memmem;

use super::EmbedError;
use super::folder::{GRAPH, ModelFolder, Pooling, TOKENIZER_FILES};
use super::session::{Session, normalise};

/// The kind of the identities of its vectors.
pub(super) const KIND: &str = "onnx";
/// The outputs among which the vectors are looked for, the best first.
const OUTPUTS: &[OutputKey] = &[
    OutputKey::OnlyOne,
    OutputKey::ByName("sentence_embedding"),
    OutputKey::ByName("last_hidden_state"),
    OutputKey::ByName("token_embeddings"),
    OutputKey::ByOrder(0),
];

/// The operator by which models are scaled by what goes through them.
const SCALED_BY_BATCH: &[u8] = b"DynamicQuantizeLinear";

/// A model in one session of the runtime, which has one thread: the caller's.
pub(super) struct OnnxSession {
    model: TextEmbedding,
    pooling: Pooling,
    normalised: bool,
    /// Its numbers are scaled by all that goes through it at once, so that a text's vector would depend on its neighbours.
    alone: bool,
}

impl OnnxSession {
    /// Reads a model's folder. [`super::Runtime::load`] must have succeeded before. Slow.
    pub(super) fn open(folder: &ModelFolder) -> Result<Self, EmbedError> {
        // The tokenizer would take all processors for a batch.
        tokenizers::utils::parallelism::set_parallelism(false);
        let [tokenizer_file, config_file, special_tokens_map_file, tokenizer_config_file] = TOKENIZER_FILES;
        let tokenizer_files = TokenizerFiles {
            tokenizer_file: folder.read(tokenizer_file)?,
            config_file: folder.read(config_file)?,
            special_tokens_map_file: folder.read(special_tokens_map_file)?,
            tokenizer_config_file: folder.read(tokenizer_config_file)?,
        };
        let graph = folder.read(GRAPH)?;
        let alone = memmem::find(&graph, SCALED_BY_BATCH).is_some();
        let options = InitOptionsUserDefined::new().with_max_length(folder.usage.max_length).with_intra_threads(1);
        let model = guarded(|| {
            TextEmbedding::try_new_from_user_defined(UserDefinedEmbeddingModel::new(graph, tokenizer_files), options)
        });
        let model = model.map_err(|error| EmbedError(format!("{} can't be loaded: {error}", folder.path.display())))?;
        Ok(Self { model, pooling: folder.usage.pooling, normalised: folder.usage.normalise, alone })
    }

    /// Takes the vectors out of a batch's outputs.
    fn pooled(&self, batch: &SingleBatchOutput) -> fastembed::Result<Vec<Vec<f32>>> {
        let pooling = match self.pooling {
            Pooling::Mean => Pool::Mean,
            Pooling::Cls => Pool::Cls,
        };
        let table = batch.select_and_pool_output(&OUTPUTS, Some(pooling))?;
        let mut vectors: Vec<Vec<f32>> = table.rows().into_iter().map(|row| row.to_vec()).collect();
        if self.normalised {
            vectors.iter_mut().for_each(|vector| normalise(vector));
        }
        Ok(vectors)
    }
}

impl Session for OnnxSession {
    fn encode(&mut self, texts: &[String]) -> Result<Vec<Vec<f32>>, EmbedError> {
        if texts.is_empty() {
            return Ok(Vec::new());
        }
        let at_once = if self.alone { 1 } else { texts.len() };
        let batches = guarded(|| self.model.transform(texts, Some(at_once))).map_err(EmbedError)?.into_raw();
        let pooled: Result<Vec<_>, _> = batches.iter().map(|batch| self.pooled(batch)).collect();
        Ok(pooled.map_err(|error| EmbedError(error.to_string()))?.concat())
    }
}

/// Has the runtime do something. A panic of its binding becomes words like any other failure.
fn guarded<T>(work: impl FnOnce() -> fastembed::Result<T>) -> Result<T, String> {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(done) => done.map_err(|error| error.to_string()),
        Err(_) => Err("ONNX Runtime's binding failed within.".to_owned()),
    }
}
