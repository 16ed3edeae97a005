"""What decides how much to draft: measured costs, counted acceptance, the selector that weighs them."""
