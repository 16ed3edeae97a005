"""Writes models of random weights in any quantized format, in the shape of a small Llama."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import gguf
import numpy as np

from velospec_kernels.quant_matmul.formats import FORMATS, Blocks, random_blocks

_HEAD = 64


@dataclass(frozen=True, slots=True)
class Shape:
    """Widths are multiples of 256, the longest block."""

    layers: int = 2
    width: int = 256
    inner: int = 512
    tokens: int = 509  # odd, so that the last tile of weights is not whole


SMALL = Shape()
LARGE = Shape(layers=16, width=1024, inner=4096, tokens=49_152)
"""As slow as a model of 300 million weights."""


def write_llama(path: Path, formats: str, shape: Shape = SMALL, *, experts: int = 0) -> Path:
    """A GGUF whose matrices are in `formats`: one for all, or two as in `Q4_K+Q6_K`.

    The second of two is for the output and half of the values and down projections, where llama.cpp's
    mixtures have more bits. With `experts` there is one tensor more, of as many matrices, which no Llama has:
    for those who look at heads only.
    """
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(2048)
    writer.add_embedding_length(shape.width)
    writer.add_block_count(shape.layers)
    writer.add_feed_forward_length(shape.inner)
    writer.add_head_count(shape.width // _HEAD)
    writer.add_head_count_kv(shape.width // _HEAD // 2)
    writer.add_rope_dimension_count(_HEAD)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list([f"t{number}" for number in range(shape.tokens)])
    writer.add_token_types([gguf.TokenType.NORMAL] * shape.tokens)
    writer.add_token_merges(["t 1"])
    random = np.random.default_rng(0)
    for name, (rows, values, form) in _matrices(shape, *formats.split("+")):
        kind = gguf.GGMLQuantizationType[form]
        writer.add_tensor(name, _matrix(random, form, rows, values), raw_dtype=kind)
    if experts:
        form = formats.partition("+")[0]
        stack = _matrix(random, form, experts * shape.inner, shape.width).reshape(experts, shape.inner, -1)
        writer.add_tensor("experts.weight", stack, raw_dtype=gguf.GGMLQuantizationType[form])
    for norm in ("output_norm", *(f"blk.{n}.{p}_norm" for n in range(shape.layers) for p in ("attn", "ffn"))):
        writer.add_tensor(f"{norm}.weight", np.ones(shape.width, np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def _matrices(shape: Shape, usual: str, better: str = "") -> Iterator[tuple[str, tuple[int, int, str]]]:
    """Rows, values of a row and format of each matrix, with its name."""
    better = better or usual
    keys = shape.width // 2
    yield "token_embd.weight", (shape.tokens, shape.width, usual)
    yield "output.weight", (shape.tokens, shape.width, better)
    for layer in range(shape.layers):
        block = f"blk.{layer}."
        some = better if layer % 2 == 0 else usual
        yield f"{block}attn_q.weight", (shape.width, shape.width, usual)
        yield f"{block}attn_k.weight", (keys, shape.width, usual)
        yield f"{block}attn_v.weight", (keys, shape.width, some)
        yield f"{block}attn_output.weight", (shape.width, shape.width, usual)
        yield f"{block}ffn_gate.weight", (shape.inner, shape.width, usual)
        yield f"{block}ffn_up.weight", (shape.inner, shape.width, usual)
        yield f"{block}ffn_down.weight", (shape.width, shape.inner, some)


def _matrix(random: np.random.Generator, form: str, rows: int, values: int) -> np.ndarray:
    """Rows of bytes, values of about 0.05 around 0."""
    length = FORMATS[form].length
    # One row of blocks in many orders: making each would take longer than all else.
    few = random_blocks(random, form, min(rows, 256), values // length)
    _tame(few, form)
    blocks = few[random.integers(0, len(few), rows)]
    return blocks.view(np.uint8).reshape(rows, -1)


def _tame(blocks: Blocks, form: str) -> None:
    """Scales of one size, and lows that put the mean of the values at 0."""
    levels = {"Q4": 16, "Q5": 32, "Q6": 64, "Q8": 256}[form[:2]]
    small = {"Q4_K": 32, "Q5_K": 32, "Q6_K": 64}.get(form, 1)
    blocks["scale"] = 0.2 / levels / small
    if form.endswith("_1"):
        blocks["low"] = -0.1
    elif form in ("Q4_K", "Q5_K"):
        blocks["low"] = 0.1 / small
