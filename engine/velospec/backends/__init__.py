"""Backends: a loaded model behind one protocol (`base`), and the cores it may use (`cpu`)."""
