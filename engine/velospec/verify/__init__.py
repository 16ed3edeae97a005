"""What becomes of a draft: greedy verification, and the probe of which batch shapes give equal logits."""
