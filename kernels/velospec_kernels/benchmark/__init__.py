"""Times the operations on a GPU, each beside what else does its work, after checking that the answers agree.

    python -m velospec_kernels.benchmark [--json FILE]

Device time: replays of a CUDA graph of many calls that rotate over inputs larger than the second-level cache,
by events; the median of the replays. Everything is measured the same way, in one run.
"""
