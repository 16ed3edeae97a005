"""The llama.cpp backend, on llama-cpp-python's low-level C API. The one home of `import llama_cpp`.

`library` owns the process-wide state (logging, loading a model file), `vocabulary` the tokenizer, `backend`
the KV slots and batches. Importing this package loads the native library.
"""

from __future__ import annotations

from velospec.backends.llama_cpp.backend import LlamaBackend
from velospec.backends.llama_cpp.library import build_id
from velospec.backends.llama_cpp.options import KvType, LlamaOptions
from velospec.backends.llama_cpp.vocabulary import LlamaVocabulary, open_vocabulary

__all__ = ["KvType", "LlamaBackend", "LlamaOptions", "LlamaVocabulary", "build_id", "open_vocabulary"]
