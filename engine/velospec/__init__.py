"""VeloSpec: exact speculative decoding without a second model, for code completion on your own machine."""

__version__ = "0.1.0"
