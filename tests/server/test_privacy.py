"""The privacy gate: what is kept from the model, and why."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from velospec_lsp.gitignore import compile_patterns
from velospec_lsp.privacy import PrivacyGate, uri_path

GATE = PrivacyGate()
SECRET = "its name is one of files that hold secrets"  # noqa: S105  # the gate's words


@pytest.mark.parametrize(
    "name",
    [
        ".env",
        ".env.local",
        "prod.env",
        ".ENV",
        "Server.PEM",
        "id_rsa",
        "id_ed25519.pub",
        "tls.key",
        "cert.crt",
        ".netrc",
        ".npmrc",
        ".aws/credentials",
        ".ssh/config",
        ".kube/config",
        "a/.gnupg/x.py",
        "terraform.tfvars",
        "secrets.yaml",
        "service-account-prod.json",
        ".git-credentials",
        "config/.env/settings.py",
        ".git/config",
        ".config/gcloud/a.db",
        ".env%2Elocal",
        "%2Eenv",
    ],
)
def test_files_that_hold_secrets_are_kept(name: str) -> None:
    for uri in (f"file:///home/me/{name}", f"FILE://localhost/c%3A/me/{name}", f"untitled:/home/me/{name}"):
        ruling = GATE.rule(uri, 10)
        assert (ruling.allowed, ruling.reason) == (False, SECRET)


@pytest.mark.parametrize(
    "name",
    [
        "main.py",
        "environment.py",
        "env.py",
        "keys.py",
        "secrets.py",
        "pem.go",
        ".env.example",
        "monkey.ts",
        "a b.c",
    ],
)
def test_ordinary_files_are_not(name: str) -> None:
    assert GATE.rule(f"file:///home/me/{name.replace(' ', '%20')}", 10).allowed


@pytest.mark.parametrize(
    ("uri", "said"),
    [
        ("git:/home/me/main.py", "its scheme is git, not file or untitled"),
        (
            "vscode-notebook-cell:/home/me/a.ipynb#1",
            "its scheme is vscode-notebook-cell, not file or untitled",
        ),
        ("https://host/main.py", "its scheme is https, not file or untitled"),
        ("main.py", "its scheme is unknown, not file or untitled"),
        ("file:///home/me/a%00b.py", "its name is not that of a file"),
    ],
)
def test_other_schemes_are_kept(uri: str, said: str) -> None:
    assert GATE.rule(uri, 10).reason == said


def test_unnamed_buffers_are_allowed() -> None:
    assert GATE.rule("untitled:Untitled-1", 10).allowed
    assert GATE.rule("file://", 10).allowed


def test_large_files_are_kept() -> None:
    gate = PrivacyGate(max_file_kb=1)
    assert gate.rule("file:///a.py", 1024).allowed
    assert gate.rule("file:///a.py", 1025).reason == "the file is larger than 1 KiB"


@pytest.mark.parametrize(
    ("uri", "path"),
    [
        ("file:///a/b%20c.py", "/a/b c.py"),
        ("file:///c%3A/x.py", "C:/x.py"),
        ("file:///C:/x.py", "C:/x.py"),
        ("file://server/share/x.py", "//server/share/x.py"),
        ("file:///a?b#c.py", "/a?b#c.py"),
        ("C:\\x.py", None),
        ("untitled:x", None),
    ],
)
def test_paths_of_uris(uri: str, path: str | None) -> None:
    assert uri_path(uri) == path


def test_user_patterns_only_add(tmp_path: Path) -> None:
    gate = PrivacyGate(("*.gen.py", "!.env", "/private/"), folders=(str(tmp_path),))
    for name, reason in {
        "a.gen.py": "the setting velospec.exclude covers it",
        "private/a.py": "the setting velospec.exclude covers it",
        ".env": SECRET,
        "src/private/a.py": "",
    }.items():
        assert gate.rule((tmp_path / name).as_uri(), 1).reason == reason


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    (tmp_path / ".git" / "info").mkdir(parents=True)
    (tmp_path / ".gitignore").write_text("build/\n*.log\n!keep.log\n/top.py\n[\n\\\n")
    (tmp_path / ".git" / "info" / "exclude").write_text("local.py\n")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / ".gitignore").write_text("*.py\n!yes.py\n!again.log\n")
    return tmp_path


def reason(gate: PrivacyGate, path: Path) -> str:
    return gate.rule(path.as_uri(), 1).reason


def test_gitignore_is_followed(repository: Path) -> None:
    gate = PrivacyGate()
    above, below = repository / ".gitignore", repository / "sub" / ".gitignore"
    for name, file in {
        "build/a.py": above,
        "sub/build/a.py": above,
        "a.log": above,
        "top.py": above,
        "local.py": repository / ".git" / "info" / "exclude",
        "sub/a.py": below,
        "sub/deep/a.py": below,
    }.items():
        assert reason(gate, repository / name) == f"{file} excludes it"
    for name in ("a.py", "keep.log", "sub/top.txt", "sub/yes.py", "sub/again.log", "builder/a.txt"):
        assert reason(gate, repository / name) == ""


def test_gitignore_is_read_again_when_it_changes(repository: Path) -> None:
    gate = PrivacyGate()
    assert reason(gate, repository / "late.py") == ""
    (repository / ".gitignore").write_text("late.py\n")
    assert reason(gate, repository / "late.py") != ""
    (repository / ".gitignore").unlink()
    assert reason(gate, repository / "late.py") == ""


@pytest.mark.parametrize(
    ("pattern", "excluded", "kept"),
    [
        ("**" * 50 + "b", "a" * 200 + "b", "a" * 200 + "c"),
        ("*a" * 40 + "*b", "a" * 200 + "b", "a" * 200 + "c"),
        ("*[ab]?" * 20 + "*b", "a" * 200 + "b", "a" * 200 + "c"),
        ("a/**/" * 20 + "b", "a/" * 400 + "b", "a/" * 400 + "c"),
        ("**/a/" * 20 + "b", "a/" * 400 + "b", "a/" * 400 + "c"),
    ],
)
@pytest.mark.timeout(30)
def test_no_pattern_holds_the_server_up(tmp_path: Path, pattern: str, excluded: str, kept: str) -> None:
    by_setting = PrivacyGate((pattern,), folders=(str(tmp_path),))
    assert (
        by_setting.rule(f"file://{tmp_path}/{excluded}", 10).reason
        == "the setting velospec.exclude covers it"
    )
    assert by_setting.rule(f"file://{tmp_path}/{kept}", 10).allowed
    found = compile_patterns([pattern])
    assert (found.match_file(excluded), found.match_file(kept)) == (True, False)


@pytest.mark.parametrize(
    ("pattern", "excluded", "kept"),
    [
        ("a**b", "axxb", "a/b"),
        ("*.py[co]*", "x.pyc.py", "x.py"),
        (r"\**b*", "*ab", "ab"),
        ("x*[*]y*z", "x1*y2z", "x1y2z"),
        ("a/**/b/**/c", "a/c/b/b/x/c", "a/c/c"),
        ("/**/a*b*c", "q/r/axbbyc", "q/r/axc"),
    ],
)
def test_several_wildcards_mean_what_git_has_them_mean(pattern: str, excluded: str, kept: str) -> None:
    found = compile_patterns([pattern])
    assert (found.match_file(excluded), found.match_file(kept)) == (True, False)


def test_outside_of_a_repository_gitignore_means_nothing(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text("*\n")
    if not any((above / ".git").exists() for above in tmp_path.parents):
        assert reason(PrivacyGate(), tmp_path / "a.py") == ""


@pytest.mark.skipif(os.name != "posix", reason="making links needs a privilege elsewhere")
def test_a_link_is_judged_by_its_target_too(repository: Path) -> None:
    (repository / ".env").write_text("X=1")
    (repository / "build").mkdir()
    for name, target in {"plain.py": ".env", "linked.py": "build/real.py"}.items():
        (repository / name).symlink_to(repository / target)
    gate = PrivacyGate()
    assert reason(gate, repository / "plain.py") == SECRET
    assert reason(gate, repository / "linked.py") == f"{repository / '.gitignore'} excludes it"
