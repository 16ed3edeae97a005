"""What .gitignore files say about a path: nested files, negation, .git/info/exclude.

Reads ignore files only, each again when its time or size changes. Knows no settings and no secrets.
The user's own global ignore file (core.excludesFile) is not read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from pathspec import GitIgnoreSpec
from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

_STARS = re.compile(r"(\\.)|\*+")
_STAR_BEFORE_STAR = re.compile(r"\[\^/\]\*((?:\\.|\[(?:\\.|[^\]\\])+\]|[^\\\[/()|*])*?)(?=\[\^/\]\*)")
_DEEP_BEFORE_DEEP = re.compile(r"\(\?:/\.\+\)\?(/(?:(?!\(\?:).)+)(?=\(\?:/\.\+\)\?/)")


class IgnoreFiles:
    """Answers for any path from the ignore files of the repository that it lies in."""

    def __init__(self) -> None:
        self._specs: dict[Path, tuple[tuple[int, int], GitIgnoreSpec]] = {}

    def covering(self, path: Path, *, folder: bool = False) -> Path | None:
        """The ignore file that excludes `path` (absolute; a `folder` where that is said), or None.

        Outside of a repository nothing is excluded. As git has it, a file in an excluded folder cannot be
        included again by a pattern of its own.
        """
        root = _repository(path)
        if root is None:
            return None
        target = root
        for part in path.relative_to(root).parts:
            target = target / part
            found = self._verdict(root, target, folder=folder or target != path)
            if found is not None:
                return found
        return None

    def _verdict(self, root: Path, target: Path, *, folder: bool) -> Path | None:
        """The ignore file whose pattern, the nearest that matches, excludes `target` itself."""
        above = target.parent
        while True:
            excluded = self._matches(above / ".gitignore", target.relative_to(above), folder=folder)
            if excluded is not None:
                return above / ".gitignore" if excluded else None
            if above == root:
                break
            above = above.parent
        exclude = root / ".git" / "info" / "exclude"
        return exclude if self._matches(exclude, target.relative_to(root), folder=folder) else None

    def _matches(self, file: Path, relative: Path, *, folder: bool) -> bool | None:
        """True if `file` excludes, False if it includes again, None if it says nothing."""
        spec = self._spec(file)
        if spec is None:
            return None
        return spec.check_file(relative.as_posix() + ("/" if folder else "")).include

    def _spec(self, file: Path) -> GitIgnoreSpec | None:
        try:
            stat = file.stat()
            stamp = (stat.st_mtime_ns, stat.st_size)
            known = self._specs.get(file)
            if known is not None and known[0] == stamp:
                return known[1]
            lines = file.read_text("utf-8", errors="replace").splitlines()
        except OSError:
            self._specs.pop(file, None)
            return None
        # A malformed pattern excludes nothing, as in git; the others of its file count.
        spec = compile_patterns(line for line in lines if well_formed(line))
        self._specs[file] = (stamp, spec)
        return spec


class _Pattern(GitIgnoreSpecPattern):
    """A pattern that is matched in time about linear in the path, whoever wrote it.

    Of several wildcards of a kind, all but the last may take the least that fits, since what follows gains
    nothing from more. Said to the matcher by atomic groups, this keeps it from trying all ways to share out
    the path among them, of which a pattern in a repository of others can have more than anyone can wait for.
    """

    @classmethod
    def pattern_to_regex(cls, pattern: str) -> tuple[str | None, bool | None]:  # type: ignore[override]  # no bytes
        regex, include = super().pattern_to_regex(_fewest_stars(pattern))
        if regex is not None:
            regex = _STAR_BEFORE_STAR.sub(r"(?>[^/]*?\1)", regex)
            regex = _DEEP_BEFORE_DEEP.sub(r"(?>(?:/.+?)??\1(?=/))", regex)
        return regex, include


def compile_patterns(lines: Iterable[str]) -> GitIgnoreSpec:
    """The patterns of a .gitignore file, safe to match against any path. Raises ValueError, if malformed."""
    return GitIgnoreSpec.from_lines(lines, _Pattern, backend="simple")


def _fewest_stars(pattern: str) -> str:
    """`pattern` with each run of stars made the one (`**` where it is a whole name) that it means."""
    return "/".join(
        "**" if re.fullmatch(r"\*{2,}", name) else _STARS.sub(lambda stars: stars[1] or "*", name)
        for name in pattern.split("/")
    )


def well_formed(line: str) -> bool:
    """Whether `line` is a pattern (or a comment, or blank) that git understands."""
    try:
        compile_patterns([line])
    except ValueError:
        return False
    return True


def _repository(path: Path) -> Path | None:
    """The nearest folder above `path` that holds .git (a folder, or a file in a worktree)."""
    for above in path.parents:
        if (above / ".git").exists():
            return above
    return None
