"""What else does the work: chains of torch's operations, the same compiled by torch, and xgrammar.

All answer what the operation answers, but xgrammar's chain, which has the id alone and writes to the logits.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from velospec_kernels import _torch


def unpack(mask: Any, vocabulary: int) -> Any:
    """The packed mask [rows, words] as bool [rows, vocabulary]."""
    torch = _torch.torch()
    shifts = torch.arange(32, device=mask.device, dtype=torch.int32)
    return ((mask[..., None] >> shifts) & 1).reshape(mask.shape[0], -1)[:, :vocabulary].bool()


def masked_argmax(logits: Any, mask: Any) -> tuple[Any, Any, Any]:
    """Ids [rows], the two largest values [rows, 2], allowed counts [rows]."""
    allowed = unpack(mask, logits.shape[1])
    masked = logits.float().masked_fill(~allowed, float("-inf"))
    return masked.argmax(1), masked.topk(2, dim=1).values, allowed.sum(1)


def compiled() -> Callable[[Any, Any], Any]:
    """`masked_argmax`, compiled by torch for each shape."""
    chain: Callable[[Any, Any], Any] = _torch.torch().compile(masked_argmax, dynamic=False)
    return chain


def xgrammar(backend: str) -> Callable[[Any, Any], Any] | None:
    """The mask, written into the logits by xgrammar, then torch's argmax; None if that is not installed."""
    try:
        apply = importlib.import_module("xgrammar").apply_token_bitmask_inplace
    except ImportError:
        return None

    def chain(logits: Any, mask: Any) -> Any:
        apply(logits, mask, backend=backend)
        return logits.argmax(1)

    return chain


def counts(mask: Any, vocabulary: int) -> Any:
    """Allowed ids of each row of a mask without set bits past the vocabulary."""
    return unpack(mask, vocabulary).sum(1)


def count_by_words(mask: list[list[int]]) -> list[int]:
    """The loop that the kernel replaced in the project it comes from: Python, word by word, on the host."""
    return [sum((word & 0xFFFFFFFF).bit_count() for word in row) for row in mask]


def sample(logits: Any, mask: Any, settings: tuple[float, int, float, float]) -> Any:
    """Ids [rows]: mask, softmax with the filters in the order of the transformers library, one draw."""
    torch = _torch.torch()
    temperature, top_k, top_p, min_p = settings
    values = logits.float().masked_fill(~unpack(mask, logits.shape[1]), float("-inf")) / temperature
    if top_k:
        values = values.masked_fill(values < values.topk(top_k, dim=1).values[:, -1:], float("-inf"))
    if top_p < 1:
        ordered, places = values.sort(dim=1, descending=True)
        shares = ordered.softmax(1)
        ordered = ordered.masked_fill(shares.cumsum(1) - shares >= top_p, float("-inf"))
        values = torch.full_like(values, float("-inf")).scatter(1, places, ordered)
    shares = values.softmax(1)
    if min_p:
        shares = shares.masked_fill(shares < min_p * shares.amax(1, keepdim=True), 0)
    # As torch.multinomial draws one: an exponential race, without its checks, which wait for the device.
    return (shares / torch.empty_like(shares).exponential_()).argmax(1)
