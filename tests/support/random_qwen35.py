"""A program: write a Qwen3.5 of random weights as transformers saves it, for llama.cpp's converter.

    python random_qwen35.py VOCABULARY.gguf FOLDER TOKENS SHAPE

SHAPE is JSON, in the words of `config.json`. Runs under an interpreter that has torch and transformers, with
llama.cpp's own gguf package on its path. The converter knows tokenizers by what they make of a text, so the
tokenizer is that of Qwen2, out of llama.cpp's vocabulary file; the converter pads it to TOKENS.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import gguf
import torch
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast, Qwen3_5ForCausalLM, Qwen3_5TextConfig

_WORDS = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
    r"|\s+(?!\S)|\s+"
)


def main(vocabulary: str, folder: str, tokens: str, shape: str) -> None:
    tokenizer = qwen2_tokenizer(gguf.GGUFReader(vocabulary))
    torch.manual_seed(3)
    config = Qwen3_5TextConfig(
        **json.loads(shape),
        vocab_size=int(tokens),
        tie_word_embeddings=True,
        initializer_range=0.25,  # large enough for a wrong state to show
        rope_parameters={
            "rope_type": "default",
            "rope_theta": 10_000.0,
            "partial_rotary_factor": 0.25,
            "mrope_section": [2, 1, 1],
        },
    )
    Qwen3_5ForCausalLM(config).save_pretrained(Path(folder))
    end = "<|im_end|>"
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token=end).save_pretrained(Path(folder))


def qwen2_tokenizer(reader: gguf.GGUFReader) -> Tokenizer:
    names, kinds, merges = (
        reader.fields[f"tokenizer.ggml.{field}"].contents() for field in ("tokens", "token_type", "merges")
    )
    words = {name: index for index, name in enumerate(names) if kinds[index] == gguf.TokenType.NORMAL}
    tokenizer = Tokenizer(models.BPE(vocab=words, merges=[tuple(merge.split(" ")) for merge in merges]))
    split = pre_tokenizers.Split(Regex(_WORDS), "isolated")
    letters = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([split, letters])
    tokenizer.decoder = decoders.ByteLevel()
    special = [name for index, name in enumerate(names) if kinds[index] == gguf.TokenType.CONTROL]
    tokenizer.add_special_tokens([AddedToken(name, special=True) for name in special])
    return tokenizer


if __name__ == "__main__":
    main(*sys.argv[1:])
