"""Plain data shared by every layer: requests, drafts, verdicts, statistics, errors, cancellation.

Imports the standard library only, so that a client of the daemon pays nothing for it.
"""
