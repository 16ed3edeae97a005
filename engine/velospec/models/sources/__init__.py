"""Where a model's file can come from, one file per kind of source.

Each source fetches into a folder it is given and says what it fetched; it installs nothing.
"""

from __future__ import annotations
