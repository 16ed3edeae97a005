"""Which workspace a document belongs to: the innermost folder that the editor has open."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from velospec.core.errors import VeloSpecError
from velospec.core.request import Completion, InfillRequest
from velospec_lsp.completion.pipeline import Pipeline


class Nobody:
    async def infill(
        self,
        request: InfillRequest,
        *,
        model: str | None = None,
        on_text: Callable[[str], None] | None = None,
    ) -> Completion:
        raise VeloSpecError(f"{request.document} is not completed here by {model}, nor told {on_text}.")


@pytest.mark.parametrize(
    ("uri", "workspace"),
    [
        ("file:///home/u/project/a.py", "/home/u/project"),
        ("file:///home/u/project/inner/deep/a.py", "/home/u/project/inner"),
        ("file:///home/u/project-two/a.py", ""),
        ("file:///home/u/with%20space/a.py", "/home/u/with space/"),
        ("untitled:Untitled-1", ""),
    ],
)
def test_the_innermost_folder_counts(uri: str, workspace: str) -> None:
    pipeline = Pipeline(Nobody(), lambda _error: None)
    assert pipeline.workspace_of(uri) == ""
    pipeline.roots = ("/home/u/project", "/home/u/project/inner", "/home/u/with space/")
    assert pipeline.workspace_of(uri) == workspace
