"""Merges a LoRA adapter into a base model, GGUF to GGUF, and quantizes the result to Q8_0.

Works tensor by tensor, so that memory holds one tensor and not the model. Knows GGUF's tensor layout and
the meaning of a LoRA; knows nothing of where files come from or what the adapter was trained for.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from velospec.core.errors import InstallError
from velospec.models.progress import Progress, silent

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

_FILE_TYPE_Q8_0 = 7  # llama.cpp's LLAMA_FTYPE_MOSTLY_Q8_0
_REPLACED = ("general.file_type", "general.name")


def merge_adapter(
    base: Path,
    adapter: Path,
    target: Path,
    metadata: Mapping[str, str | int],
    progress: Progress = silent,
) -> None:
    """Write `base` with `adapter` folded in to `target`, every matrix in Q8_0.

    Each adapted tensor becomes `W + alpha / rank * (B @ A)`, computed in float32 on the dequantized base.
    Tensors that are already Q8_0 or not quantized and have no adapter are copied as they are. The base's
    metadata is kept; `metadata` is added to it or replaces it.
    Raises InstallError if the two files do not belong together.
    """
    # The library takes 0.1 s to import; a client that only lists models need not pay for it.
    import gguf  # noqa: PLC0415 - as said above

    base_reader, adapter_reader = gguf.GGUFReader(base), gguf.GGUFReader(adapter)
    lora = {tensor.name: tensor for tensor in adapter_reader.tensors}
    _check_pair(base_reader, lora, adapter)
    alpha = float(adapter_reader.fields["adapter.lora.alpha"].contents())
    architecture = str(base_reader.fields["general.architecture"].contents())
    writer = gguf.GGUFWriter(target, architecture)
    try:
        _copy_metadata(base_reader, writer, metadata)
        plan = [
            (tensor, _target_type(tensor, tensor.name + ".lora_a" in lora)) for tensor in base_reader.tensors
        ]
        for tensor, kind in plan:
            _announce(writer, tensor, kind)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_ti_data_to_file()
        for done, (tensor, kind) in enumerate(plan):
            progress("Merging the infill adapter", done, len(plan))
            down, up = lora.get(tensor.name + ".lora_a"), lora.get(tensor.name + ".lora_b")
            if down is not None and up is not None:
                data = _quantized(_merged(tensor, down, up, alpha))
            elif kind == tensor.tensor_type:
                data = tensor.data
            else:
                data = _quantized(gguf.quants.dequantize(tensor.data, tensor.tensor_type))
            writer.write_tensor_data(data)
        progress("Merging the infill adapter", len(plan), len(plan))
    finally:
        writer.close()


def _check_pair(base: Any, lora: Mapping[str, Any], adapter: Path) -> None:
    """Every adapter tensor must name a tensor of the base."""
    names = {tensor.name for tensor in base.tensors}
    strays = [name for name in lora if name.rpartition(".lora_")[0] not in names]
    if strays or not lora:
        what = f"it adapts {strays[0]}, which the model lacks" if strays else "it holds no tensors"
        raise InstallError(
            f"The adapter {adapter.name} does not belong to this model: {what}.",
            "Install VeloSpec anew: its package data is damaged.",
        )


def _target_type(tensor: Any, adapted: bool) -> Any:  # noqa: FBT001 - private, called in one place
    import gguf  # noqa: PLC0415 - see merge_adapter

    kinds = gguf.GGMLQuantizationType
    if not adapted and tensor.tensor_type in {kinds.F32, kinds.Q8_0}:
        return tensor.tensor_type
    return kinds.Q8_0


def _copy_metadata(base: Any, writer: Any, added: Mapping[str, str | int]) -> None:
    import gguf  # noqa: PLC0415 - see merge_adapter

    for field in base.fields.values():
        # The writer sets the architecture and the GGUF.* counts itself.
        if field.name == "general.architecture" or field.name.startswith("GGUF."):
            continue
        if field.name in added or field.name in _REPLACED:
            continue
        kind = field.types[0]
        inner = field.types[-1] if kind == gguf.GGUFValueType.ARRAY else None
        writer.add_key_value(field.name, field.contents(), kind, sub_type=inner)
    writer.add_file_type(_FILE_TYPE_Q8_0)
    for key, value in added.items():
        if isinstance(value, str):
            writer.add_string(key, value)
        else:
            writer.add_uint32(key, value)


def _announce(writer: Any, tensor: Any, kind: Any) -> None:
    """Tell the writer name, shape and size of a tensor whose data comes later."""
    import gguf  # noqa: PLC0415 - see merge_adapter
    import numpy as np  # noqa: PLC0415 - with gguf

    shape = [int(length) for length in reversed(tensor.shape)]  # numpy's order, rows first
    if kind == gguf.GGMLQuantizationType.F32:
        writer.add_tensor_info(tensor.name, shape, np.dtype(np.float32), tensor.data.nbytes)
        return
    packed = gguf.quants.quant_shape_to_byte_shape(shape, kind)
    size = int(np.prod(packed))
    writer.add_tensor_info(tensor.name, packed, np.dtype(np.uint8), size, raw_dtype=kind)


def _merged(tensor: Any, down: Any, up: Any, alpha: float) -> npt.NDArray[np.float32]:
    """`W + alpha / rank * (B @ A)`; W: [out, in], A (`down`): [rank, in], B (`up`): [out, rank]."""
    import gguf  # noqa: PLC0415 - see merge_adapter

    weight = gguf.quants.dequantize(tensor.data, tensor.tensor_type)
    a = gguf.quants.dequantize(down.data, down.tensor_type)
    b = gguf.quants.dequantize(up.data, up.tensor_type)
    merged: npt.NDArray[np.float32] = weight + (alpha / a.shape[0]) * (b @ a)
    return merged


def _quantized(weight: npt.NDArray[np.float32]) -> Any:
    import gguf  # noqa: PLC0415 - see merge_adapter

    return gguf.quants.quantize(weight, gguf.GGMLQuantizationType.Q8_0)
