"""One completion, from a cursor in a snapshot to an offer. Knows no type of the protocol."""
