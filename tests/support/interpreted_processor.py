"""Runs the Triton kernel in Triton's interpreter beside the numpy form, and prints how many cases agree.

A program of its own, since Triton must be told before it loads.
"""

from __future__ import annotations

import sys

import numpy as np

from tests.support.kernel_cases import VALUES, case
from velospec_kernels.fused_logit_processor import BLOCK, fused_logit_processor
from velospec_kernels.grammar_masked_argmax import MaskedArgmax, grammar_masked_argmax


def main() -> None:
    agreed = 0
    for shape in [(1, 1), (2, 31), (3, 33), (5, 97), (2, BLOCK), (2, BLOCK + 3), (1, 3 * BLOCK)]:
        for density in (None, 0.0, 0.001, 0.5, 1.0):
            for values in VALUES:
                given = case(shape, density, values)
                out = MaskedArgmax(*(np.full(shape[0], -77, dtype) for dtype in ("i4", "f4", "f4", "i4")))
                before = [buffer.tobytes() for buffer in given.buffers]
                assert fused_logit_processor(given.logits, given.mask, out=out) is out
                wanted = grammar_masked_argmax(given.logits, given.mask)
                for name, mine, right in zip(out._fields, out, wanted, strict=True):
                    np.testing.assert_array_equal(mine, right, err_msg=f"{name} {shape} {density} {values}")
                assert [buffer.tobytes() for buffer in given.buffers] == before, "an input was written to"
                agreed += 1
    sys.stdout.write(f"{agreed} cases agree\n")


if __name__ == "__main__":
    main()
