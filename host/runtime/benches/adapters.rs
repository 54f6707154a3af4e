//! A long answer, read as it comes from the network: framed, understood by the adapter, put together.
//!
//! Side by side: the adapter as a component through the runtime, the same adapter linked natively, and a reader made with
//! serde for this one format, as somebody would write who needs no other.

#[allow(dead_code, reason = "the tests need more of it")]
#[path = "../tests/runtime/house.rs"]
mod house;

use std::hint::black_box;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use homeagent_providers::assembler::{AnswerLimits, Assembler};
use homeagent_providers::framing::{EVENT_LIMIT, Framer};
use homeagent_runtime::Bundled;
use homeagent_test_adapters::Native;
use homeagent_types::model::{AssistantAnswer, Framing, ModelDelta};
use homeagent_types::ports::{AdapterSession, Adapters};
use serde::Deserialize;

/// Pieces of text in a stream.
const DELTAS: usize = 20_000;
/// Bytes of one read from a connection that has more to give.
const READ: usize = 16 << 10;
/// One piece of text, as long as a token is.
const WORD: &str = " water";

/// The events of an answer as the vendor writes them.
fn stream(adapter: &str) -> Vec<u8> {
    let mut stream = String::new();
    if adapter == "anthropic" {
        let piece = format!(
            "event: content_block_delta\ndata: {{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{{\"type\":\
             \"text_delta\",\"text\":\"{WORD}\"}}}}\n\n"
        );
        stream.push_str(
            "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"msg_01\",\"type\":\"message\",\
             \"role\":\"assistant\",\"content\":[],\"model\":\"claude-sonnet-5\",\"usage\":{\"input_tokens\":25,\
             \"output_tokens\":1}}}\n\nevent: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\
             \"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n",
        );
        stream.push_str(&piece.repeat(DELTAS));
        stream.push_str(
            "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\nevent: message_delta\n\
             data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":\
             20000}}\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
        );
    } else {
        let chunk = |delta: &str, reason: &str| {
            format!(
                "data: {{\"id\":\"chatcmpl-9xYzAbCdEfGhIjKlMnOpQrStUvWx\",\"object\":\"chat.completion.chunk\",\
                 \"created\":1790000000,\"model\":\"gpt-4.1-mini\",\"system_fingerprint\":\"fp_0123456789\",\"choices\":\
                 [{{\"index\":0,\"delta\":{delta},\"logprobs\":null,\"finish_reason\":{reason}}}]}}\n\n"
            )
        };
        stream.push_str(&chunk(&format!("{{\"content\":\"{WORD}\"}}"), "null").repeat(DELTAS));
        stream.push_str(&chunk("{}", "\"stop\""));
        stream.push_str("data: [DONE]\n\n");
    }
    stream.into_bytes()
}

/// Reads a stream with an adapter, as the chain of sources does.
async fn read(session: &mut dyn AdapterSession, bytes: &[u8]) -> AssistantAnswer {
    let mut framer = Framer::new(Framing::Sse, EVENT_LIMIT);
    let mut assembler = Assembler::new(AnswerLimits::default());
    let mut take = |deltas: Vec<ModelDelta>| deltas.into_iter().for_each(|delta| assert!(assembler.push(delta)));
    for piece in bytes.chunks(READ) {
        let mut events = Vec::new();
        framer.push(piece, &mut events).expect("small events");
        take(session.step(events).await.expect("it reads"));
    }
    take(session.end().await.expect("it reads"));
    assembler.finish()
}

/// What somebody would write for chat completions alone: a line, its JSON, the text.
fn plain(bytes: &[u8]) -> String {
    #[derive(Deserialize)]
    struct Chunk {
        choices: Vec<Choice>,
    }
    #[derive(Deserialize)]
    struct Choice {
        delta: Delta,
    }
    #[derive(Deserialize)]
    struct Delta {
        content: Option<String>,
    }
    let mut text = String::new();
    let mut rest = Vec::new();
    for piece in bytes.chunks(READ) {
        rest.extend_from_slice(piece);
        let Some(end) = rest.iter().rposition(|byte| *byte == b'\n') else { continue };
        let lines = std::str::from_utf8(&rest[..end]).expect("text");
        for data in lines.lines().filter_map(|line| line.strip_prefix("data: ")).filter(|data| *data != "[DONE]") {
            let chunk: Chunk = serde_json::from_str(data).expect("a chunk");
            text.extend(chunk.choices.into_iter().filter_map(|choice| choice.delta.content));
        }
        rest.drain(..=end);
    }
    text
}

fn adapters(criterion: &mut Criterion) {
    let executor = tokio::runtime::Runtime::new().expect("an executor");
    let bundled = homeagent_bundle::packages().filter(|package| ["openai", "anthropic"].contains(&package.name));
    let bundled = bundled.map(|package| Bundled {
        manifest: package.manifest,
        component: package.component,
        digest: package.digest,
    });
    let house = executor.block_on(async { house::with_bundled(bundled.collect()) });
    executor.block_on(house.runtime.load_all());
    let components = house.runtime.adapters();
    for adapter in ["openai", "anthropic"] {
        let bytes = stream(adapter);
        let mut group = criterion.benchmark_group(adapter);
        group.sample_size(20).throughput(Throughput::Elements(DELTAS as u64));
        let kinds: [(&str, &dyn Adapters); 2] = [("as a component", &*components), ("linked natively", &Native)];
        for (kind, adapters) in kinds {
            group.bench_function(kind, |bencher| {
                let open = || executor.block_on(adapters.open(adapter)).expect("it opens");
                bencher.iter_batched_ref(
                    open,
                    |session| {
                        let answer = executor.block_on(read(session.as_mut(), &bytes));
                        assert_eq!(answer.text.len(), DELTAS * WORD.len());
                    },
                    BatchSize::PerIteration,
                );
            });
        }
        if adapter == "openai" {
            group.bench_function("a reader for this alone", |bencher| {
                bencher.iter(|| assert_eq!(black_box(plain(&bytes)).len(), DELTAS * WORD.len()));
            });
        }
        group.finish();
    }
}

criterion_group!(benches, adapters);
criterion_main!(benches);
