"""What every operation checks before it touches memory, and how it picks an implementation.

Numpy arrays and CUDA tensors are looked at through one small view, so that a clause is written once. CUDA
tensors are told by their methods (torch's), so nothing here imports a framework.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, Protocol, get_args

import numpy as np
import numpy.typing as npt

from velospec_kernels.errors import ContractError

Backend = Literal["auto", "reference", "numpy", "cuda"]
BACKENDS: tuple[str, ...] = get_args(Backend)

Words = npt.NDArray[np.int32] | npt.NDArray[np.uint32]
"""A packed mask: bit `id % 32` of word `id // 32` says whether `id` is allowed, on a little-endian host."""

CPU_DTYPES = ("float32",)
CUDA_DTYPES = ("float32", "float16", "bfloat16")
MASK_DTYPES = ("int32", "uint32")
MAX_VOCABULARY = 2**30  # so that an id plus a block of ids still fits into int32


class CudaTensor(Protocol):
    """The part of a torch tensor that the CUDA bindings use; its memory is on a CUDA device."""

    @property
    def shape(self) -> Any: ...
    @property
    def dtype(self) -> Any: ...
    @property
    def device(self) -> Any: ...
    @property
    def is_cuda(self) -> bool: ...
    def data_ptr(self) -> int: ...
    def stride(self) -> tuple[int, ...]: ...


class View(NamedTuple):
    """How an argument lies in memory.

    `strides` count elements; a stride of numpy's may be no whole number of them.
    """

    name: str
    shape: tuple[int, ...]
    strides: tuple[float, ...]
    dtype: str
    device: str


def view(name: str, array: npt.NDArray[Any] | CudaTensor) -> View:
    """Look at `array`, called `name` in errors. Raises ContractError for what is neither kind of array."""
    if isinstance(array, np.ndarray):
        size = array.itemsize
        dtype = array.dtype.name if array.dtype.isnative else f"byte-swapped {array.dtype.name}"
        return View(name, array.shape, tuple(stride / size for stride in array.strides), dtype, "cpu")
    if getattr(array, "is_cuda", False):
        dtype = str(array.dtype).removeprefix("torch.")
        return View(name, tuple(array.shape), array.stride(), dtype, str(array.device))
    kind = f"{type(array).__module__}.{type(array).__qualname__}"
    raise ContractError(f"{name} must be a numpy array or a CUDA tensor, got {kind}.")


def check_rank(argument: View, rank: int) -> None:
    """`argument` has `rank` dimensions."""
    if len(argument.shape) != rank:
        raise ContractError(f"{argument.name} must have {rank} dimensions, got shape {list(argument.shape)}.")


def check_shape(argument: View, shape: tuple[int, ...], because: str) -> None:
    """`argument` has exactly `shape`; `because` says where that comes from."""
    if argument.shape != shape:
        raise ContractError(
            f"{argument.name} must have shape {list(shape)} ({because}), got {list(argument.shape)}."
        )


def check_dtype(argument: View, dtypes: tuple[str, ...]) -> None:
    """`argument` holds one of `dtypes`."""
    if argument.dtype not in dtypes:
        raise ContractError(f"{argument.name} must be {' or '.join(dtypes)}, got {argument.dtype}.")


def check_dense_rows(argument: View) -> None:
    """Neighbours along the last dimension of `argument` are neighbours in memory; rows may lie anywhere."""
    more_than_one = argument.shape[-1] > 1 and 0 not in argument.shape
    if more_than_one and argument.strides[-1] != 1:
        raise ContractError(
            f"{argument.name} must have stride 1 along its last dimension, got {argument.strides[-1]:g}."
        )


def check_dense(argument: View) -> None:
    """`argument` of two dimensions lies in memory row after row, without gaps."""
    check_dense_rows(argument)
    rows, columns = argument.shape
    if rows > 1 and argument.strides[0] != columns:
        raise ContractError(f"{argument.name} must have rows {columns} apart, got {argument.strides[0]:g}.")


def check_logits(logits: View) -> None:
    """`logits` are rows of a dtype that the operations read where they lie."""
    check_vocabulary(logits.shape[1])
    check_dtype(logits, CPU_DTYPES if logits.device == "cpu" else CUDA_DTYPES)
    check_dense_rows(logits)


def check_device(argument: View, other: View) -> None:
    """`argument` lies where `other` lies."""
    if argument.device != other.device:
        raise ContractError(
            f"{argument.name} must be on {other.device} like {other.name}, got {argument.device}."
        )


def check_output(name: str, array: npt.NDArray[Any] | CudaTensor, dtype: str, rows: View) -> None:
    """`array` can take one `dtype` value for each row of `rows`."""
    output = view(name, array)
    check_shape(output, rows.shape[:1], f"one value for each row of {rows.name}")
    check_dtype(output, (dtype,))
    check_dense_rows(output)
    check_device(output, rows)
    if isinstance(array, np.ndarray) and not array.flags.writeable:
        raise ContractError(f"{name} must be writeable, got a read-only array.")


def check_mask(mask: View, rows: int, vocabulary: int) -> None:
    """`mask` is a packed mask of `rows` rows over `vocabulary` ids."""
    check_rank(mask, 2)
    shape = (rows, words_for(vocabulary))
    check_shape(mask, shape, f"{rows} rows of {vocabulary} ids, 32 ids a word")
    check_dtype(mask, MASK_DTYPES)
    check_dense_rows(mask)


def check_vocabulary(vocabulary: int) -> None:
    """`vocabulary` is a size that ids of int32 can reach."""
    if not 1 <= vocabulary <= MAX_VOCABULARY:
        raise ContractError(f"vocabulary must be within 1 and {MAX_VOCABULARY}, got {vocabulary}.")


def words_for(vocabulary: int) -> int:
    """How many mask words one row of `vocabulary` ids takes."""
    return (vocabulary + 31) // 32


def choose(backend: Backend, argument: View) -> Backend:
    """The implementation for `argument`: the one asked for, or for `auto` the fast one of its device."""
    if backend not in BACKENDS:
        raise ContractError(f"backend must be one of {', '.join(BACKENDS)}, got {backend!r}.")
    on_cpu = argument.device == "cpu"
    if backend == "auto":
        return "numpy" if on_cpu else "cuda"
    if (backend == "cuda") == on_cpu:
        wanted = "a CUDA device" if backend == "cuda" else "the cpu"
        raise ContractError(
            f"backend {backend!r} wants {argument.name} on {wanted}, got it on {argument.device}."
        )
    return backend
