//! Sentence models in Rust alone, by tract, where there is no ONNX Runtime. Slower, and it does not know every operator.

use std::sync::Arc;

use serde::Deserialize;
use tokenizers::{Tokenizer, TruncationParams};
use tract_onnx::prelude::*;

use super::EmbedError;
use super::folder::{GRAPH, ModelFolder, Pooling};
use super::session::{Session, normalise};

/// The kind of the identities of its vectors.
pub(super) const KIND: &str = "tract";
/// The outputs among which the vectors are looked for, the best first.
const OUTPUTS: [&str; 3] = ["sentence_embedding", "last_hidden_state", "token_embeddings"];

/// A model's graph, made ready for texts of any length, one at a time.
pub(super) struct TractSession {
    graph: Arc<RunnableModel<TypedFact, Box<dyn TypedOp>>>,
    inputs: Vec<Input>,
    output: usize,
    tokenizer: Tokenizer,
    pooling: Pooling,
    normalised: bool,
}

/// What the graph wants at a place.
#[derive(Clone, Copy)]
enum Input {
    Ids,
    Mask,
    Types,
}

/// What is looked for in `tokenizer_config.json`.
#[derive(Deserialize)]
struct TokenizerConfig {
    model_max_length: Option<f64>,
}

impl TractSession {
    /// Reads a model's folder. Slow.
    pub(super) fn open(folder: &ModelFolder) -> Result<Self, EmbedError> {
        tokenizers::utils::parallelism::set_parallelism(false);
        let tokenizer = tokenizer(folder)?;
        let refused = |error: TractError| {
            let path = folder.path.join(GRAPH);
            EmbedError(format!("{} can't be run without ONNX Runtime: {error:#}", path.display()))
        };
        let (graph, inputs, output) = read(folder).map_err(refused)?;
        let usage = &folder.usage;
        Ok(Self { graph, inputs, output, tokenizer, pooling: usage.pooling, normalised: usage.normalise })
    }

    fn one(&self, text: &str) -> TractResult<Vec<f32>> {
        let encoding = self.tokenizer.encode(text, true).map_err(|error| TractError::msg(error.to_string()))?;
        let row = |values: &[u32]| -> TractResult<TValue> {
            let values: Vec<i64> = values.iter().map(|value| i64::from(*value)).collect();
            Ok(Tensor::from_shape(&[1, values.len()], &values)?.into_tvalue())
        };
        let values: TractResult<TVec<TValue>> = self
            .inputs
            .iter()
            .map(|input| match input {
                Input::Ids => row(encoding.get_ids()),
                Input::Mask => row(encoding.get_attention_mask()),
                Input::Types => row(encoding.get_type_ids()),
            })
            .collect();
        let outputs = self.graph.run(values?)?;
        let output = outputs.get(self.output).ok_or_else(|| TractError::msg("an output is missing"))?;
        let mut vector = self.pooled(output)?;
        if self.normalised {
            normalise(&mut vector);
        }
        Ok(vector)
    }

    /// One vector of `[1, dimensions]` or `[1, tokens, dimensions]`. Nothing is padded, so every token counts.
    fn pooled(&self, output: &Tensor) -> TractResult<Vec<f32>> {
        let shape = output.shape().to_vec();
        let output = output.cast_to::<f32>()?;
        let values = output.to_plain_array_view::<f32>()?;
        let values = values.as_slice().ok_or_else(|| TractError::msg("an output is not in one piece"))?;
        match shape[..] {
            [1, _] => Ok(values.to_vec()),
            [1, tokens, dimensions] if tokens > 0 => Ok(match self.pooling {
                Pooling::Cls => values[..dimensions].to_vec(),
                Pooling::Mean => {
                    let sum = |at: usize| (0..tokens).map(|token| values[token * dimensions + at]).sum::<f32>();
                    (0..dimensions).map(|at| sum(at) / tokens as f32).collect()
                }
            }),
            _ => Err(TractError::msg(format!("an output has the shape {shape:?}"))),
        }
    }
}

impl Session for TractSession {
    fn encode(&mut self, texts: &[String]) -> Result<Vec<Vec<f32>>, EmbedError> {
        // A batch would gain nothing: a session has one thread, and padding costs time.
        let vectors: TractResult<Vec<_>> = texts.iter().map(|text| self.one(text)).collect();
        vectors.map_err(|error| EmbedError(format!("{error:#}")))
    }
}

type Graph = (Arc<RunnableModel<TypedFact, Box<dyn TypedOp>>>, Vec<Input>, usize);

/// Reads the graph and makes it one of a single text of any length.
fn read(folder: &ModelFolder) -> TractResult<Graph> {
    let mut graph = onnx().model_for_path(folder.path.join(GRAPH))?;
    let tokens = graph.symbols.sym("tokens").to_dim();
    let mut inputs = Vec::new();
    for at in 0..graph.input_outlets()?.len() {
        let outlet = graph.input_outlets()?[at];
        inputs.push(match graph.node(outlet.node).name.as_str() {
            "input_ids" => Input::Ids,
            "attention_mask" => Input::Mask,
            "token_type_ids" => Input::Types,
            other => return Err(TractError::msg(format!("it wants an input named {other}"))),
        });
        graph =
            graph.with_input_fact(at, InferenceFact::dt_shape(i64::datum_type(), tvec![1.to_dim(), tokens.clone()]))?;
    }
    let names: Vec<String> = graph
        .output_outlets()?
        .iter()
        .map(|outlet| graph.outlet_label(*outlet).unwrap_or(&graph.node(outlet.node).name).to_owned())
        .collect();
    let named = OUTPUTS.iter().find_map(|wanted| names.iter().position(|name| name == wanted));
    Ok((graph.into_optimized()?.into_runnable()?, inputs, named.unwrap_or(0)))
}

/// The tokenizer, which cuts texts to the model's length and pads nothing.
fn tokenizer(folder: &ModelFolder) -> Result<Tokenizer, EmbedError> {
    let broken = |file: &str, error: &dyn std::fmt::Display| {
        EmbedError(format!("{} can't be used: {error}", folder.path.join(file).display()))
    };
    let mut tokenizer =
        Tokenizer::from_bytes(folder.read("tokenizer.json")?).map_err(|error| broken("tokenizer.json", &error))?;
    let config: TokenizerConfig = serde_json::from_slice(&folder.read("tokenizer_config.json")?)
        .map_err(|error| broken("tokenizer_config.json", &error))?;
    // Some publishers write an astronomical number for "no limit".
    let own = config.model_max_length.map_or(usize::MAX, |length| length as usize);
    let max_length = folder.usage.max_length.min(own);
    tokenizer
        .with_truncation(Some(TruncationParams { max_length, ..TruncationParams::default() }))
        .map_err(|error| broken("tokenizer.json", &error))?;
    tokenizer.with_padding(None);
    Ok(tokenizer)
}
