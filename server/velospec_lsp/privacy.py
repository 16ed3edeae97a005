"""The one gate: which files' text may reach the model, and why not.

Excluded by default, and settings can only add: files that hold secrets by their name (also of what a
symbolic link points to), what .gitignore covers, files over the size limit, schemes other than file and
untitled. Every path that text can take asks here.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path, PurePath
from urllib.parse import unquote

from velospec_lsp.gitignore import IgnoreFiles, compile_patterns

_DATA_KINDS = ("json", "yaml", "yml", "toml", "ini", "cfg", "conf", "txt", "xml", "properties", "csv", "db")

SECRET_PATTERNS: tuple[str, ...] = (
    # environment files
    ".env", ".env.*", "*.env", ".envrc", ".flaskenv", ".dev.vars",
    # keys and certificates
    "*.pem", "*.key", "*.ppk", "*.p8", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.kdbx", "*.kdb", "*.asc",
    "*.gpg", "*.pgp", "*.crt", "*.cer", "*.der", "*.csr", "*.p7b", "*.p7c", "*.ovpn", "*.age",
    "id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*", "*_rsa", "*_ed25519",
    # credentials of tools
    ".netrc", "_netrc", ".npmrc", ".pypirc", ".pgpass", ".my.cnf", ".mylogin.cnf", ".htpasswd",
    ".git-credentials", "**/.git/config", ".dockercfg", ".terraformrc", "*.tfvars",
    "*.tfvars.json", "*.tfstate", "*.tfstate.*",
    ".vault-token", ".vault_pass*", "kubeconfig", "*.kubeconfig", ".s3cfg", ".boto",
    "credentials", "*.secret", "*.secrets", "service-account*.json", "service_account*.json",
    *(f"{name}.{kind}" for name in ("credentials", "secret", "secrets") for kind in _DATA_KINDS),
    "client_secret*.json", "application_default_credentials.json",
    "htpasswd", "shadow", "passwd", ".bash_history", ".zsh_history", ".python_history", ".psql_history",
    # folders of keys and credentials
    ".ssh/", ".gnupg/", ".aws/", ".azure/", ".kube/", ".docker/", "**/.config/gcloud/", ".password-store/",
)  # fmt: skip
"""Names that hold secrets, as .gitignore patterns, compared without regard to case."""

TEMPLATES: tuple[str, ...] = (".env.example", ".env.sample", ".env.template", ".env.dist")
"""Files that match a secret pattern but exist to be published."""

_SECRET = compile_patterns([*SECRET_PATTERNS, *(f"!{name}" for name in TEMPLATES)])
_DRIVE = re.compile(r"/[A-Za-z]:(?:/|$)")


@dataclass(frozen=True, slots=True)
class Ruling:
    """Whether text may be used, and if not, one sentence that says why."""

    allowed: bool
    reason: str = ""


ALLOWED = Ruling(allowed=True)


def uri_path(uri: str) -> str | None:
    r"""The path that a file URI names, with forward slashes; None for another scheme.

    `file:///c%3A/x` gives `C:/x`, `file://host/share` gives `//host/share`; what is no URI, like `C:\x`,
    has another scheme. `?` and `#` that a client forgot to quote are part of the path.
    """
    scheme, colon, rest = uri.partition(":")
    if not colon or scheme.lower() != "file":
        return None
    path = unquote(rest)
    if path.startswith("//"):
        host, slash, tail = path[2:].partition("/")
        path = f"//{host}{slash}{tail}" if host and host.lower() != "localhost" else slash + tail
    return path[1].upper() + path[2:] if _DRIVE.match(path) else path


class PrivacyGate:
    """Rules on documents by URI and size. Cheap to ask: .gitignore files are read again when they change."""

    def __init__(
        self, exclude: tuple[str, ...] = (), max_file_kb: int = 1024, folders: tuple[str, ...] = ()
    ) -> None:
        """`exclude` are further .gitignore patterns of the user, relative to any of the workspace `folders`.

        Raises ValueError if one of them is malformed.
        """
        self._max_chars = max_file_kb * 1024
        self._max_file_kb = max_file_kb
        # A "!" pattern could only take an exclusion of the same list back; it never reaches the others.
        self._user = compile_patterns(exclude)
        self._folders = tuple(folder.rstrip("/") + "/" for folder in folders)
        self._ignore_files = IgnoreFiles()

    def rule(self, uri: str, size: int) -> Ruling:
        """Whether the text of `uri`, `size` characters long, may be used."""
        if size > self._max_chars:
            return Ruling(allowed=False, reason=f"the file is larger than {self._max_file_kb} KiB")
        path = uri_path(uri)
        if path is None:
            scheme, colon, rest = uri.partition(":")
            if colon and scheme.lower() == "untitled":
                # Some editors put the name to be into the URI: untitled:/home/me/.env
                return self._by_name(unquote(rest))
            shown = scheme[:30] if colon else "unknown"
            return Ruling(allowed=False, reason=f"its scheme is {shown}, not file or untitled")
        if "\0" in path:
            return Ruling(allowed=False, reason="its name is not that of a file")
        ruling = self._by_path(path)
        if ruling.allowed and PurePath(path).is_absolute():
            resolved = os.path.realpath(path)
            if resolved != path:
                return self._by_path(resolved)
        return ruling

    def excludes_folder(self, path: str) -> bool:
        """Whether a .gitignore file keeps out all that lies in the folder `path`."""
        return self._ignore_files.covering(Path(path), folder=True) is not None

    def _by_path(self, path: str) -> Ruling:
        ruling = self._by_name(path)
        if not ruling.allowed:
            return ruling
        if PurePath(path).is_absolute() and (source := self._ignore_files.covering(Path(path))):
            return Ruling(allowed=False, reason=f"{source} excludes it")
        return ALLOWED

    def _by_name(self, path: str) -> Ruling:
        path = path.replace("\\", "/")
        absolute = path.lstrip("/")
        if not absolute:
            return ALLOWED
        if _SECRET.match_file(absolute.lower()):
            return Ruling(allowed=False, reason="its name is one of files that hold secrets")
        relative = (path.removeprefix(folder) for folder in self._folders if path.startswith(folder))
        if any(self._user.match_file(name) for name in (absolute, absolute.lower(), *relative)):
            return Ruling(allowed=False, reason="the setting velospec.exclude covers it")
        return ALLOWED
