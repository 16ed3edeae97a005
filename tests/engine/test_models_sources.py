"""Models of other programs on this disk, the hub (a small one of our own), and what suits a machine."""

from __future__ import annotations

import hashlib
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.support.gguf_files import sha256, write_gguf
from velospec.core.errors import InstallError
from velospec.models import memory
from velospec.models.catalogue import catalogue
from velospec.models.install import install
from velospec.models.memory import available_memory, entry_seconds, recommend
from velospec.models.sources.found import found_models
from velospec.models.sources.hub import HubFile, choose_file
from velospec.models.store import ModelStore

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user's home folder with nothing in it."""
    for name in ("OLLAMA_MODELS", "LLAMA_CACHE", "HF_HOME", "HF_HUB_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


def keep_in_ollama(home: Path, name: str, tag: str) -> Path:
    models = home / ".ollama" / "models"
    model = write_gguf(home / "pulled.gguf", chat=True)
    digest = f"sha256:{sha256(model)}"
    blob = models / "blobs" / digest.replace(":", "-")
    blob.parent.mkdir(parents=True)
    model.rename(blob)
    (models / "blobs" / "sha256-1").write_text("\nMIT License\n")
    manifest = models / "manifests" / "registry.ollama.ai" / "library" / name / tag
    manifest.parent.mkdir(parents=True)
    layers = [
        {"mediaType": "application/vnd.ollama.image.model", "digest": digest},
        {"mediaType": "application/vnd.ollama.image.license", "digest": "sha256:1"},
    ]
    manifest.write_text(json.dumps({"layers": layers}))
    (manifest.parent / "broken").write_text("{")
    return blob


def test_models_of_other_programs_are_found_and_used_where_they_lie(home: Path, tmp_path: Path) -> None:
    blob = keep_in_ollama(home, "coder", "1.5b")
    studio = write_gguf(home / ".lmstudio" / "models" / "maker" / "repo" / "m-q8_0.gguf")
    llama = write_gguf(home / ".cache" / "llama.cpp" / "org_m.gguf")
    hub = write_gguf(home / ".cache/huggingface/hub/models--o--r/snapshots/1/h.gguf")
    write_gguf(home / ".lmstudio" / "models" / "maker" / "repo" / "mmproj-m.gguf")
    write_gguf(home / ".lmstudio" / "models" / "maker" / "repo" / "m-00002-of-00003.gguf")
    (home / ".lmstudio" / "models" / "broken.gguf").write_bytes(b"GGUF")
    assert [(model.program, model.reference, model.path) for model in found_models()] == [
        ("Ollama", "ollama:coder:1.5b", blob),
        ("LM Studio", str(studio), studio),
        ("llama.cpp", str(llama), llama),
        ("Hugging Face", str(hub), hub),
    ]
    store = ModelStore(tmp_path / "models")
    model = install("ollama:coder:1.5b", store=store)
    assert (model.name, model.path, model.licence) == ("coder-1.5b", blob, "MIT License")
    store.remove(model.name)
    assert blob.is_file()
    with pytest.raises(InstallError, match=r"It keeps: coder:1\.5b"):
        install("ollama:coder", store=store)


class Hub(BaseHTTPRequestHandler):
    """As much of the hub as a download needs; with `breaks`, the first download is cut off half-way."""

    files: dict[str, bytes] = {}  # noqa: RUF012 - set per server
    sums: dict[str, str] = {}  # noqa: RUF012 - set per server
    breaks = False
    ranges: list[str | None] = []  # noqa: RUF012 - set per server

    def log_message(self, *_: object) -> None:
        pass

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        if path.startswith("/api/models/o/r"):
            files = [
                {"rfilename": name, "size": len(data), "lfs": self.lfs(name)}
                for name, data in self.files.items()
            ]
            body = {"id": "o/r", "sha": COMMIT, "siblings": files, "cardData": {"license": "mit"}}
            self.answer(200, json.dumps(body).encode(), {"Content-Type": "application/json"})
        elif path.startswith(f"/o/r/resolve/{COMMIT}/") and path.rpartition("/")[2] in self.files:
            self.file(path.rpartition("/")[2])
        else:
            self.answer(404, b"{}", {"X-Error-Code": "RepoNotFound"})

    def lfs(self, name: str) -> dict[str, object]:
        return {"sha256": self.sums[name], "size": len(self.files[name]), "pointerSize": 1}

    def file(self, name: str) -> None:
        data, wanted = self.files[name], self.headers.get("Range")
        headers = {"ETag": f'"{self.sums[name]}"', "X-Repo-Commit": COMMIT, "Accept-Ranges": "bytes"}
        if self.command == "GET":
            type(self).ranges.append(wanted)
        if wanted:
            start = int(wanted.removeprefix("bytes=").partition("-")[0])
            headers["Content-Range"] = f"bytes {start}-{len(data) - 1}/{len(data)}"
            self.answer(206, data[start:], headers)
        elif self.command == "GET" and self.breaks and not self.ranges[:-1]:
            self.send_response(200)
            for key, value in {**headers, "Content-Length": str(len(data))}.items():
                self.send_header(key, value)
            self.end_headers()
            self.wfile.write(data[: len(data) // 2])
            self.wfile.flush()
            self.connection.shutdown(socket.SHUT_RDWR)
        else:
            self.answer(200, data, headers)

    def answer(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for key, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(key, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[tuple[type[Hub], str]]:
    model = write_gguf(tmp_path / "hub.gguf").read_bytes()
    files = {"m.Q4_K_M.gguf": model, "m.Q8_0.gguf": model + b"\0", "README.md": b"#"}
    sums = {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}
    handler = type("OneHub", (Hub,), {"files": files, "sums": sums, "ranges": []})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield handler, f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


def velospec_model(
    home: Path, endpoint: str, *arguments: str, **extra: str
) -> subprocess.CompletedProcess[str]:
    """Run `velospec model`; huggingface_hub reads its environment when it is imported."""
    plain = {key: value for key, value in os.environ.items() if "proxy" not in key.lower()}
    environment = {**plain, "HOME": str(home), "VELOSPEC_HOME": str(home / "velospec"), "COLUMNS": "200"}
    environment |= {"HF_ENDPOINT": endpoint, "HF_HUB_DISABLE_XET": "1", "HF_HOME": str(home / "hf"), **extra}
    command = [sys.executable, "-c", "from velospec_cli.app import main; main()", "model", *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)


def test_a_hub_file_is_chosen_pinned_and_checked(hub: tuple[type[Hub], str], home: Path) -> None:
    handler, endpoint = hub
    done = velospec_model(home, endpoint, "install", "hf:o/r", "--no-measure", "--json")
    assert done.returncode == 0, done.stderr
    model = json.loads(done.stdout)
    assert model["source"] == f"hf:o/r/m.Q8_0.gguf@{COMMIT}"
    assert (model["sha256"], model["licence"], model["name"]) == (handler.sums["m.Q8_0.gguf"], "mit", "r")
    assert "Downloading m.Q8_0.gguf" in done.stderr
    assert sorted(path.name for path in Path(model["folder"]).iterdir()) == ["m.Q8_0.gguf", "manifest.json"]
    named = velospec_model(home, endpoint, "install", "hf:o/r/m.Q4_K_M.gguf", "--no-measure", "--json")
    assert json.loads(named.stdout)["name"] == "m.q4_k_m"


def test_a_download_that_breaks_off_is_resumed(hub: tuple[type[Hub], str], home: Path) -> None:
    handler, endpoint = hub
    handler.breaks = True
    # The library keeps what it has in pieces of 10 MiB.
    big = handler.files["m.Q8_0.gguf"] + bytes(25 << 20)
    handler.files["m.Q8_0.gguf"], handler.sums["m.Q8_0.gguf"] = big, hashlib.sha256(big).hexdigest()
    done = velospec_model(home, endpoint, "install", "hf:o/r", "--no-measure", "--json")
    if done.returncode:  # the library gave up: then the next attempt goes on where it broke off
        done = velospec_model(home, endpoint, "install", "hf:o/r", "--no-measure", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["sha256"] == handler.sums["m.Q8_0.gguf"]
    assert [wanted for wanted in handler.ranges if wanted] == [f"bytes={10 << 20}-"]


def test_failures_of_the_hub_are_told_with_a_remedy(hub: tuple[type[Hub], str], home: Path) -> None:
    handler, endpoint = hub
    handler.sums["m.Q8_0.gguf"] = "0" * 64
    cases = [
        (("hf:o/r",), {}, "arrived damaged"),
        (("hf:o/none",), {}, "no repository"),
        (("hf:o/r/none.gguf",), {}, "has no file none.gguf"),
        (("hf:o/r",), {"HF_HUB_OFFLINE": "1"}, "Unset HF_HUB_OFFLINE"),
        (("hf:o/r",), {"HF_ENDPOINT": "http://127.0.0.1:9"}, "Check the network"),
    ]
    for arguments, extra, words in cases:
        done = velospec_model(home, endpoint, "install", *arguments, "--no-measure", **extra)
        assert done.returncode == 1
        assert words in done.stderr, done.stderr
        assert "Traceback" not in done.stderr
    listed = velospec_model(home, endpoint, "list", "--json")
    assert json.loads(listed.stdout)["installed"] == []


def test_offline_the_hubs_own_cache_is_used(home: Path) -> None:
    cached = write_gguf(home / "hf" / "hub" / "models--o--r" / "snapshots" / "1" / "m.Q8_0.gguf")
    done = velospec_model(home, "", "install", "hf:o/r", "--no-measure", "--json", HF_HUB_OFFLINE="1")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["path"] == str(cached)


def test_the_file_is_chosen_by_quantisation_and_memory() -> None:
    names = {"a.Q2_K.gguf": 1, "a.Q4_K_M.gguf": 2, "a-Q6_K.gguf": 3, "a-q8_0.gguf": 4, "mmproj-q8_0.gguf": 1}
    files = [HubFile(name, size, None) for name, size in names.items()]
    assert choose_file(files, 100, "o/r").name == "a-q8_0.gguf"
    assert choose_file(files, 7, "o/r").name == "a-Q6_K.gguf"
    assert choose_file(files, 1, "o/r").name == "a.Q2_K.gguf"
    with pytest.raises(InstallError, match="no GGUF file"):
        choose_file([HubFile("a-00001-of-00002.gguf", 1, None)], 100, "o/r")


def test_the_recommendation_goes_by_memory_and_speed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "usable_cores", lambda: 8)
    fast, slow, plenty = 1e13, 1e9, 64 << 30
    assert recommend(plenty, fast).name == "qwen2.5-coder-7b"
    assert recommend(plenty, slow).name == "smollm2-135m-fim"
    assert recommend(4 << 30, fast).name == "qwen2.5-coder-1.5b"
    assert recommend(1, fast).name == "smollm2-135m-fim"
    assert recommend(plenty, fast, "chat").name == "smollm2-135m-instruct"
    small, large = catalogue()["qwen2.5-coder-0.5b"], catalogue()["qwen2.5-coder-7b"]
    assert entry_seconds(large, 1e9) == pytest.approx(entry_seconds(small, 1e9) * 7610 / 490)
    assert available_memory() > 0
