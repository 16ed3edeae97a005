"""Writes small models of random weights with a running state: a hybrid one (Qwen3.5) and a recurrent one.

The hybrid's tensors and metadata are those that llama.cpp's converter makes of a Qwen3.5 of this shape: see
`tests/engine/test_hybrid_converter.py`. The weights are large enough for a wrong state to show.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gguf
import numpy as np

from velospec.models.store import InstalledModel

QWEN35_TOKENS = 248_320
"""Tokens of the vocabulary of Qwen3.5."""

QWEN35_SHAPE = {
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 32,
    "linear_conv_kernel_dim": 4,
    "linear_key_head_dim": 16,
    "linear_value_head_dim": 16,
    "linear_num_key_heads": 2,
    "linear_num_value_heads": 4,
    "max_position_embeddings": 4096,
}
"""The hybrid in the words of its `config.json`: three layers of linear attention, then one of full."""

_WIDTH, _INNER, _LAYERS, _CONTEXT = 64, 96, 4, 4096
_Q8_0 = gguf.GGMLQuantizationType.Q8_0


def write_qwen35(path: Path, *, tokens: int = 320, seed: int = 3) -> Path:
    """A hybrid of 0.2 million weights beside its `tokens` embeddings, in Q8_0."""
    writer = _writer(path, "qwen35", tokens)
    writer.add_feed_forward_length(_INNER)
    writer.add_head_count(4)
    writer.add_head_count_kv(2)
    writer.add_key_length(32)
    writer.add_value_length(32)
    writer.add_rope_dimension_count(8)
    writer.add_rope_dimension_sections([2, 1, 1, 0])
    writer.add_rope_freq_base(10_000.0)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_ssm_conv_kernel(4)
    writer.add_ssm_state_size(16)
    writer.add_ssm_group_count(2)
    writer.add_ssm_time_step_rank(4)
    writer.add_ssm_inner_size(64)
    writer.add_array("qwen35.attention.recurrent_layers", [True, True, True, False])
    writer.add_uint32("qwen35.full_attention_interval", 4)
    random = np.random.default_rng(seed)
    tensors = [*_embeddings(random, tokens)]
    for layer in range(_LAYERS):
        tensors += _full_layer(random, layer) if layer == 3 else _linear_layer(random, layer)
    return _finish(writer, path, tensors)


def write_mamba(path: Path, *, tokens: int = 320, seed: int = 4) -> Path:
    """A purely recurrent model, for which llama.cpp keeps no snapshots."""
    writer = _writer(path, "mamba", tokens)
    writer.add_feed_forward_length(0)
    writer.add_head_count(0)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_ssm_conv_kernel(4)
    writer.add_ssm_inner_size(2 * _WIDTH)
    writer.add_ssm_state_size(16)
    writer.add_ssm_time_step_rank(8)
    random = np.random.default_rng(seed)
    tensors = [*_embeddings(random, tokens)]
    for layer in range(_LAYERS):
        block, inner = f"blk.{layer}.", 2 * _WIDTH
        tensors += [
            (f"{block}attn_norm.weight", np.ones(_WIDTH, np.float32)),
            (f"{block}ssm_in.weight", _matrix(random, 2 * inner, _WIDTH)),
            (f"{block}ssm_conv1d.weight", random.normal(0, 0.5, (inner, 4)).astype(np.float32)),
            (f"{block}ssm_conv1d.bias", np.zeros(inner, np.float32)),
            (f"{block}ssm_x.weight", _matrix(random, 8 + 2 * 16, inner)),
            (f"{block}ssm_dt.weight", random.normal(0, 0.3, (inner, 8)).astype(np.float32)),
            (f"{block}ssm_dt.bias", np.ones(inner, np.float32)),
            (f"{block}ssm_a", -random.uniform(0.1, 2, (inner, 16)).astype(np.float32)),
            (f"{block}ssm_d", np.ones(inner, np.float32)),
            (f"{block}ssm_out.weight", _matrix(random, _WIDTH, inner)),
        ]
    return _finish(writer, path, tensors)


def installed(path: Path) -> InstalledModel:
    """The file as an installed model, its profile to lie beside it."""
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    size = path.stat().st_size
    return InstalledModel(path.stem, ("completion",), path, digest, size, "none", "test", None, path.parent)


def _writer(path: Path, architecture: str, tokens: int) -> gguf.GGUFWriter:
    writer = gguf.GGUFWriter(path, architecture)
    writer.add_type("model")
    writer.add_context_length(_CONTEXT)
    writer.add_embedding_length(_WIDTH)
    writer.add_block_count(_LAYERS)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("qwen2")
    merges = ["Ġ Ġ", "e r", "t h", "r e", "i n", "o n", "ĠĠ ĠĠ", "re t", "( )", "s e", "se l", "sel f"]
    words = [*_byte_letters(), *(merge.replace(" ", "") for merge in merges)]
    names = [*words, "<|endoftext|>"]
    padding = [f"[PAD{number}]" for number in range(len(names), tokens)]
    kinds = [gguf.TokenType.NORMAL] * len(words) + [gguf.TokenType.CONTROL]
    writer.add_token_list([*names, *padding])
    writer.add_token_types([*kinds, *[gguf.TokenType.UNUSED] * len(padding)])
    writer.add_token_merges(merges)
    writer.add_eos_token_id(len(words))
    return writer


def _byte_letters() -> list[str]:
    """The letter that stands for each byte in the tokens of GPT-2."""
    printable = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = iter(range(0x100, 0x200))
    return [chr(byte if byte in printable else next(others)) for byte in range(256)]


def _finish(writer: gguf.GGUFWriter, path: Path, tensors: list[tuple[str, Any]]) -> Path:
    for name, values in tensors:
        writer.add_tensor(name, values, raw_dtype=_Q8_0 if values.dtype == np.uint8 else None)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def _embeddings(random: np.random.Generator, tokens: int) -> Iterator[tuple[str, Any]]:
    yield "token_embd.weight", _matrix(random, tokens, _WIDTH)
    yield "output_norm.weight", np.ones(_WIDTH, np.float32)


def _linear_layer(random: np.random.Generator, layer: int) -> Iterator[tuple[str, Any]]:
    block = f"blk.{layer}."
    yield f"{block}attn_qkv.weight", _matrix(random, 128, _WIDTH)
    yield f"{block}attn_gate.weight", _matrix(random, 64, _WIDTH)
    yield f"{block}ssm_conv1d.weight", random.normal(0, 0.5, (128, 4)).astype(np.float32)
    yield f"{block}ssm_dt.bias", np.ones(4, np.float32)
    yield f"{block}ssm_a", -random.uniform(0.02, 0.5, 4).astype(np.float32)
    yield f"{block}ssm_alpha.weight", _matrix(random, 4, _WIDTH)
    yield f"{block}ssm_beta.weight", _matrix(random, 4, _WIDTH)
    yield f"{block}ssm_norm.weight", np.ones(16, np.float32)
    yield f"{block}ssm_out.weight", _matrix(random, _WIDTH, 64)
    yield from _shared(random, block)


def _full_layer(random: np.random.Generator, layer: int) -> Iterator[tuple[str, Any]]:
    block = f"blk.{layer}."
    yield f"{block}attn_q.weight", _matrix(random, 256, _WIDTH)  # queries and their gates
    yield f"{block}attn_k.weight", _matrix(random, 64, _WIDTH)
    yield f"{block}attn_v.weight", _matrix(random, 64, _WIDTH)
    yield f"{block}attn_output.weight", _matrix(random, _WIDTH, 128)
    yield f"{block}attn_q_norm.weight", np.ones(32, np.float32)
    yield f"{block}attn_k_norm.weight", np.ones(32, np.float32)
    yield from _shared(random, block)


def _shared(random: np.random.Generator, block: str) -> Iterator[tuple[str, Any]]:
    yield f"{block}attn_norm.weight", np.ones(_WIDTH, np.float32)
    yield f"{block}post_attention_norm.weight", np.ones(_WIDTH, np.float32)
    yield f"{block}ffn_gate.weight", _matrix(random, _INNER, _WIDTH)
    yield f"{block}ffn_up.weight", _matrix(random, _INNER, _WIDTH)
    yield f"{block}ffn_down.weight", _matrix(random, _WIDTH, _INNER)


def _matrix(random: np.random.Generator, rows: int, columns: int) -> Any:
    return gguf.quantize(random.normal(0, 0.25, (rows, columns)).astype(np.float32), _Q8_0)
