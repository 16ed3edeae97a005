"""Writes a model of random weights in the shape of Qwen2 0.5B: as slow as that, with its vocabulary."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gguf
import numpy as np

from tests.support.vocabularies import vocabulary_file

_LAYERS, _WIDTH, _INNER, _HEADS, _KV_HEADS, _HEAD = 24, 896, 4864, 14, 2, 64
_BLOCK = 32  # weights that share one scale in Q8_0


def write_qwen2(path: Path) -> Path:
    """A GGUF of 24 layers and 151,936 tokens in Q8_0, 0.5 GB; the vocabulary is that of Qwen2."""
    vocabulary = gguf.GGUFReader(vocabulary_file("qwen2"))
    writer = gguf.GGUFWriter(path, "qwen2")
    for name, field in vocabulary.fields.items():
        if name.startswith("tokenizer.") and name != "tokenizer.ggml.merges.count":
            kind, *inner = field.types
            writer.add_key_value(name, field.contents(), kind, sub_type=inner[-1] if inner else None)
    writer.add_context_length(2048)
    writer.add_embedding_length(_WIDTH)
    writer.add_block_count(_LAYERS)
    writer.add_feed_forward_length(_INNER)
    writer.add_head_count(_HEADS)
    writer.add_head_count_kv(_KV_HEADS)
    writer.add_rope_freq_base(1e6)
    writer.add_layer_norm_rms_eps(1e-6)
    tokens = len(vocabulary.fields["tokenizer.ggml.tokens"].data)
    for name, values in _tensors(tokens, np.random.default_rng(0)):
        quantized = gguf.GGMLQuantizationType.Q8_0 if values.dtype == np.uint8 else None
        writer.add_tensor(name, values, raw_dtype=quantized)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def _tensors(tokens: int, random: np.random.Generator) -> Iterator[tuple[str, Any]]:
    """Each tensor with its name: norms and biases in float32, matrices as the bytes of Q8_0."""
    yield "token_embd.weight", _matrix(tokens, _WIDTH, random)
    yield "output_norm.weight", np.ones(_WIDTH, np.float32)
    for layer in range(_LAYERS):
        block = f"blk.{layer}."
        for norm in ("attn_norm", "ffn_norm"):
            yield f"{block}{norm}.weight", np.ones(_WIDTH, np.float32)
        for part, heads in (("q", _HEADS), ("k", _KV_HEADS), ("v", _KV_HEADS)):
            yield f"{block}attn_{part}.weight", _matrix(heads * _HEAD, _WIDTH, random)
            yield f"{block}attn_{part}.bias", np.zeros(heads * _HEAD, np.float32)
        yield f"{block}attn_output.weight", _matrix(_WIDTH, _HEADS * _HEAD, random)
        yield f"{block}ffn_gate.weight", _matrix(_INNER, _WIDTH, random)
        yield f"{block}ffn_up.weight", _matrix(_INNER, _WIDTH, random)
        yield f"{block}ffn_down.weight", _matrix(_WIDTH, _INNER, random)


def _matrix(rows: int, columns: int, random: np.random.Generator) -> Any:
    """Random weights of about 0.02 as rows of blocks: a float16 scale and 32 int8 each."""
    blocks = random.integers(0, 256, (rows, columns // _BLOCK, 2 + _BLOCK), dtype=np.uint8)
    blocks[:, :, :2] = np.frombuffer(np.float16(3e-4).tobytes(), np.uint8)
    return blocks.reshape(rows, -1)
