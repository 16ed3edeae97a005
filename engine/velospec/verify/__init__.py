"""What becomes of a draft: greedy or sampled verification; the numeric settings of exact and fast mode."""
