"""What of a schema cannot be enforced, where it stands, and why."""

from __future__ import annotations


class Refusal(Exception):  # noqa: N818 - no error by itself: it is collected or made into one
    """A keyword that the grammar engines cannot enforce."""

    def __init__(self, pointer: str, why: str) -> None:
        """`pointer` is a JSON pointer to the keyword, as a URI fragment."""
        super().__init__(f"{pointer}: {why}")


class Refusals:
    """Collects them where a schema may be weakened, raises the first where not."""

    def __init__(self, *, weaken: bool) -> None:
        self._weaken = weaken
        self._messages: dict[str, None] = {}

    @property
    def messages(self) -> tuple[str, ...]:
        """What was not enforced, in the order in which it was met."""
        return tuple(self._messages)

    def meet(self, refusal: Refusal) -> None:
        """Keep `refusal` in mind, or raise it."""
        if not self._weaken:
            raise refusal
        self._messages[str(refusal)] = None
