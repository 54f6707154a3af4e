//! Lists of models, as those who speak the protocol send them.

use homeagent_adapters::testing::{model_lines, options, reads_anything, response};
use homeagent_sdk::adapter::Adapter as _;
use openai::OpenAi;

fn listed(body: &str) -> Vec<String> {
    model_lines(OpenAi::parse_models(response(200, body)))
}

#[test]
fn the_request_goes_where_the_source_says() {
    let request = OpenAi::build_models_request(Vec::new()).expect("built");
    assert_eq!((&*request.method, &*request.path), ("GET", "/models"));
    let elsewhere = options(&[("models_path", "/v2/models")]);
    assert_eq!(OpenAi::build_models_request(elsewhere).expect("built").path, "/v2/models");
    let wrong = options(&[("models_path", "models")]);
    assert!(OpenAi::build_models_request(wrong).expect_err("refused").contains("models_path"));
}

#[test]
fn every_vendor_tells_in_its_own_way() {
    let cases = [
        (
            "OpenAI",
            r#"{"object":"list","data":[{"id":"gpt-6-luna","object":"model","created":1,"owned_by":"system"}]}"#,
            "gpt-6-luna - -",
        ),
        (
            "llama.cpp",
            r#"{"models":[{"name":"tiny.gguf","model":"tiny.gguf","capabilities":["completion"]}],"object":"list",
                "data":[{"id":"tiny.gguf","object":"model","owned_by":"llamacpp",
                "meta":{"vocab_type":2,"n_vocab":151936,"n_ctx_train":40960,"n_embd":1024,"n_params":596,"size":1}}]}"#,
            "tiny.gguf 40960 -",
        ),
        (
            "vLLM",
            r#"{"object":"list","data":[{"id":"Qwen/Qwen3-8B","object":"model","owned_by":"vllm","root":"Qwen/Qwen3-8B",
                "parent":null,"max_model_len":32768,"permission":[]}]}"#,
            "Qwen/Qwen3-8B 32768 -",
        ),
        (
            "OpenRouter",
            r#"{"data":[{"id":"deepseek/deepseek-v4-flash","name":"DeepSeek: V4 Flash","context_length":163840,
                "architecture":{"modality":"text->text"},"pricing":{"prompt":"0.0000001"},
                "top_provider":{"context_length":163840,"max_completion_tokens":65536,"is_moderated":false}}]}"#,
            "deepseek/deepseek-v4-flash 163840 65536 (DeepSeek: V4 Flash)",
        ),
        (
            "LM Studio",
            r#"{"object":"list","data":[{"id":"text-embedding-nomic","object":"model","type":"embeddings",
                "max_context_length":2048,"loaded_context_length":512}]}"#,
            "text-embedding-nomic 512 - kind=embedding",
        ),
        (
            "Moonshot",
            r#"{"object":"list","data":[{"id":"kimi-k3","object":"model","owned_by":"moonshot","context_length":"1048576",
                "supports_image_in":true}]}"#,
            "kimi-k3 1048576 -",
        ),
        (
            "Ark",
            r#"{"object":"list","data":[{"id":"doubao-seed-2-1-turbo-260628","name":"doubao-seed-2-1-turbo","domain":"VLM",
                "token_limits":{"context_window":262144,"max_output_token_length":131072}}]}"#,
            "doubao-seed-2-1-turbo-260628 262144 131072 (doubao-seed-2-1-turbo)",
        ),
        (
            "Groq",
            r#"{"object":"list","data":[{"id":"openai/gpt-oss-120b","context_window":131072,"max_completion_tokens":65536}]}"#,
            "openai/gpt-oss-120b 131072 65536",
        ),
        ("a bare list", r#"[{"id":"m","context_length":0},"n"]"#, "m - -|n - -"),
    ];
    for (vendor, body, expected) in cases {
        assert_eq!(listed(body).join("|"), expected, "{vendor}");
    }
}

#[test]
fn damaged_lists_are_read_as_far_as_they_go() {
    let body = r#"{"data":[null,7,{},{"id":""},{"id":null},{"id":["x"]},{"id":"good","context_length":-5,"name":7},
        {"id":"good","context_length":9},{"id":"huge","max_model_len":1e30}]}"#;
    assert_eq!(listed(body), ["good - -", "huge 4294967295 -"]);
    assert!(listed(r#"{"data":[]}"#).is_empty());
    for (body, expected) in [
        ("", "error Protocol: the list of models is not JSON: EOF while parsing a value at line 1 column 0"),
        ("{}", "error Protocol: the answer has no list of models"),
        (r#"{"data":{"id":"m"}}"#, "error Protocol: the answer has no list of models"),
        (
            r#"{"error":{"message":"Incorrect API key provided","code":"invalid_api_key"}}"#,
            "error Auth: Incorrect API key provided",
        ),
    ] {
        assert_eq!(listed(body), [expected], "{body}");
    }
    assert!(listed("<html>")[0].starts_with("error Protocol: the list of models is not JSON"));
}

#[test]
fn no_answer_is_too_odd_to_be_read() {
    const NAMES: &[&str] = &[
        "data",
        "models",
        "id",
        "name",
        "context_length",
        "meta",
        "n_ctx_train",
        "index",
        "embedding",
        "usage",
        "prompt_tokens",
        "error",
        "message",
    ];
    reads_anything(
        |answer| {
            let _ = OpenAi::parse_models(answer.clone());
            let _ = OpenAi::parse_embeddings(answer);
        },
        NAMES,
    );
}
