"""What is learned from text: n-gram rules and their packs, a corpus index, the automaton of one text."""
