"""Makes a tiny model of the Llama architecture with random weights.

It speaks nonsense without an end, in letters that can be read. Where tools are offered and no result is there yet, the
template ends with a mark, and behind that mark stands a call of the tool `look`: the one thing that is not random.
"""
import sys

import gguf
import numpy as np

WIDTH, LAYERS, HEADS, INNER, WINDOW = 64, 2, 4, 128, 1024

# What stands in these places of a token's vector is left alone by all layers: whether it is one of the text, whether it
# is the mark, whether it is the call.
TEXT, MARK, CALLED = WIDTH - 3, WIDTH - 2, WIDTH - 1

CALL = '<tool_call>\n{"name": "look", "arguments": {"n": 1}}\n</tool_call>'

TEMPLATE = """{%- if tools %}{{- '<|im_start|>system\\n# Tools\\n\\n<tools>' }}{%- for tool in tools %}
{{- '\\n' + (tool | tojson) }}{%- endfor %}{{- '\\n</tools><|im_end|>\\n' }}{%- endif %}
{%- for message in messages %}
{%- if message.role == 'tool' %}
{{- '<|im_start|>user\\n<tool_response>\\n' + message.content + '\\n</tool_response><|im_end|>\\n' }}
{%- else %}
{{- '<|im_start|>' + message.role + '\\n' + (message.content or '') }}
{%- for call in message.tool_calls or [] %}
{{- '<tool_call>\\n{"name": "' + call.function.name + '", "arguments": ' }}
{{- call.function.arguments if call.function.arguments is string else call.function.arguments | tojson }}
{{- '}\\n</tool_call>' }}
{%- endfor %}
{{- '<|im_end|>\\n' }}
{%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}
{%- if tools and messages[-1].role != 'tool' %}{{- '<|call|>' }}{%- endif %}{%- endif %}"""


def letters():
    """The letters that stand for the bytes, as in GPT-2."""
    plain = [*range(ord("!"), ord("~") + 1), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in plain]
    return [chr(byte if byte in plain else 256 + others.index(byte)) for byte in range(256)]


def write(path):
    random = np.random.default_rng(7)
    alphabet = letters()
    special = ["<s>", "</s>", "<|im_start|>", "<|im_end|>", "<|call|>"]
    call = "".join(alphabet[byte] for byte in CALL.encode())
    tokens = [*special, *alphabet, call]
    kinds = [gguf.TokenType.CONTROL] * len(special) + [gguf.TokenType.NORMAL] * (len(tokens) - len(special))
    mark, end, called = tokens.index("<|call|>"), tokens.index("<|im_end|>"), len(tokens) - 1

    writer = gguf.GGUFWriter(path, "llama")
    writer.add_name("tiny")
    writer.add_context_length(WINDOW)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(INNER)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_vocab_size(len(tokens))
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("default")
    writer.add_token_list(tokens)
    writer.add_token_types(kinds)
    # There has to be one.
    writer.add_token_merges(["a b"])
    writer.add_bos_token_id(0)
    writer.add_eos_token_id(end)
    writer.add_add_bos_token(False)
    writer.add_chat_template(TEMPLATE)

    def weights(*shape):
        return random.normal(0, 0.3, shape).astype(np.float32)

    embedding = weights(len(tokens), WIDTH)
    embedding[:, TEXT] = 1
    embedding[:, [MARK, CALLED]] = 0
    embedding[mark] = 0
    embedding[mark, MARK] = 1000
    embedding[called] = 0
    embedding[called, CALLED] = 1000
    writer.add_tensor("token_embd.weight", embedding)

    for layer in range(LAYERS):
        block = f"blk.{layer}"
        for norm in ("attn_norm", "ffn_norm"):
            writer.add_tensor(f"{block}.{norm}.weight", np.ones(WIDTH, dtype=np.float32))
        for part in ("attn_q", "attn_k", "attn_v"):
            writer.add_tensor(f"{block}.{part}.weight", weights(WIDTH, WIDTH))
        for part in ("ffn_gate", "ffn_up"):
            writer.add_tensor(f"{block}.{part}.weight", weights(INNER, WIDTH))
        for part, width in (("attn_output", WIDTH), ("ffn_down", INNER)):
            out = weights(WIDTH, width)
            out[[TEXT, MARK, CALLED]] = 0
            writer.add_tensor(f"{block}.{part}.weight", out)

    writer.add_tensor("output_norm.weight", np.ones(WIDTH, dtype=np.float32))
    output = weights(len(tokens), WIDTH)
    output[:, [MARK, CALLED]] = 0
    readable = [tokens.index(alphabet[byte]) for byte in b" abcdefghijklmnopqrstuvwxyz"]
    output[:, TEXT] = -300
    output[readable, TEXT] = 0
    output[called, MARK] = 50
    output[end, CALLED] = 50
    writer.add_tensor("output.weight", output)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    write(sys.argv[1])
