"""Where VeloSpec meets other programs that decode: as a part of them, or measured against them."""
