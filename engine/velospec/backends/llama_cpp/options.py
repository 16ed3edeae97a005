"""How a model is opened: the choices that change numbers, memory or speed. Knows nothing of llama.cpp."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class KvType(StrEnum):
    """Element type of the KV cache; both take two bytes."""

    BF16 = "bf16"
    F16 = "f16"


@dataclass(frozen=True, slots=True)
class LlamaOptions:
    """Settings of one `LlamaBackend`.

    `kv_type`, `flash_attention`, `repack` and `min_rows` decide the numbers that come out; take them from
    `verify.exact.Numerics`. The defaults are the setting under which single rows and batches of rows agreed
    bit for bit on every model and build measured so far.
    """

    context: int = 2048  # positions per slot; cut to what the model was trained for
    slots: int = 4  # independent KV sequences
    threads: int | None = None  # None: one per physical core this process may use
    batch: int = 256  # most rows of one prefill chunk
    max_rows: int = 16  # most rows with logits in one decode
    snapshots: int = 7  # rows that a hybrid model can take back; each costs the memory of a state per slot
    min_rows: int = 1  # fewer rows than this are padded, so that they run the same kernels
    kv_type: KvType = KvType.BF16
    flash_attention: bool = True
    repack: bool = True  # lay weights out anew for faster kernels, where llama.cpp has some for their type
    gpu_layers: int = -1  # -1: all, where the build has a GPU

    def __post_init__(self) -> None:
        if self.context < 1 or self.slots < 1:
            raise ValueError(f"context and slots must be positive, not {self.context} and {self.slots}")
        if not (1 <= self.min_rows <= 2 <= self.max_rows <= self.batch and self.batch >= 4):
            raise ValueError(
                f"need 1 <= min_rows <= 2 <= max_rows <= batch and batch >= 4, "
                f"not {self.min_rows}, {self.max_rows}, {self.batch}"
            )
