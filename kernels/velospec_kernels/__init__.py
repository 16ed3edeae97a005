"""Array operations of the decode hot path, each a folder with its contract, its reference and its fast forms.

    from velospec_kernels.grammar_masked_argmax import grammar_masked_argmax
    from velospec_kernels.popcount_density import popcount_density

Knows arrays of logits and packed masks; knows nothing of models, grammars, drafts or requests, and imports
nothing of `velospec`. Importing it compiles nothing and needs numpy alone.
"""
