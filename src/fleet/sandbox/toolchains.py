"""Where programs lie that agents need, and where keys lie that agents must not see. Pure.

A box shows nothing of the user's home but what is named here, by the operator or by PATH.
"""

import posixpath
from collections.abc import Iterator, Mapping

#: What a system has its programs and their settings in.
SYSTEM = ("/usr", "/etc", "/opt", "/nix", "/gnu", "/home/linuxbrew")
#: Directories of the root that are links into /usr on most systems.
ROOT_LINKS = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
#: Parts of /proc that only root can write, and that root without any right still can.
KERNEL = ("sys", "sysrq-trigger", "irq", "bus", "fs", "acpi", "scsi", "tty", "driver", "mtrr")

#: Toolchains by their places in the home. Caches are not among them: what an agent puts into a
#: cache, a build outside of the box would take out.
_IN_HOME = (
    ".pyenv", ".rbenv", ".nvm", ".volta", ".fnm", ".asdf", ".sdkman", ".rustup", ".dotnet",
    ".cargo/bin", "go/bin", ".bun/bin", ".deno/bin", ".ghcup/bin", ".npm-global", ".nix-profile",
    ".local/bin", ".local/lib", ".local/pipx",
    ".local/share/claude", ".local/share/fnm", ".local/share/mise", ".local/share/pipx",
    ".local/share/pnpm", ".local/share/uv",
)  # fmt: skip

#: Variables that name a toolchain, and the part of it that holds programs.
_BY_VARIABLE: Mapping[str, str] = {
    **dict.fromkeys(
        ("JAVA_HOME", "GOROOT", "RUSTUP_HOME", "NVM_DIR", "VOLTA_HOME", "PNPM_HOME", "PYENV_ROOT",
         "RBENV_ROOT", "DOTNET_ROOT", "ANDROID_HOME"),
        "",
    ),
    "CARGO_HOME": "bin",
    "GOPATH": "bin",
    "BUN_INSTALL": "bin",
}  # fmt: skip

#: Keys and logins below the home.
KEYS = (
    ".ssh", ".aws", ".gnupg", ".netrc", ".docker", ".kube", ".azure", ".config/gh",
    ".config/gcloud", ".config/hub", ".config/op", ".git-credentials", ".npmrc", ".pypirc",
    ".cargo/credentials", ".cargo/credentials.toml", ".gem/credentials", ".vault-token", ".pgpass",
    ".claude/.credentials.json", ".codex/auth.json", ".password-store", ".local/share/keyrings",
    ".mozilla", ".config/google-chrome", ".config/chromium", ".bash_history", ".zsh_history",
)  # fmt: skip

#: Keys of the machine, which a supervisor that runs as root could read.
KEYS_OF_ROOT = (
    "/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/sudoers",
    "/etc/sudoers.d", "/etc/ssl/private", "/etc/krb5.keytab", "/etc/ssh/ssh_host_rsa_key",
    "/etc/ssh/ssh_host_ecdsa_key", "/etc/ssh/ssh_host_ed25519_key", "/etc/docker",
    "/etc/kubernetes", "/etc/wireguard",
)  # fmt: skip

#: Variables that lead to sockets outside of the box, or to an agent that holds keys.
_NOT_PASSED = (
    "SSH_AUTH_SOCK", "GIT_SSH", "GIT_SSH_COMMAND", "DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR",
    "XDG_CACHE_HOME", "XDG_STATE_HOME", "GPG_AGENT_INFO",
)  # fmt: skip


def toolchains(env: Mapping[str, str], home: str) -> Iterator[str]:
    """Every place where a program may lie that an agent needs; not all of them exist."""
    yield from (posixpath.join(home, place) for place in _IN_HOME)
    for name, part in _BY_VARIABLE.items():
        for place in env.get(name, "").split(":"):
            if place.startswith("/"):
                yield posixpath.join(place, part) if part else place
    for place in env.get("PATH", "").split(":"):
        if place.startswith("/"):
            yield from _around(posixpath.normpath(place))


def _around(place: str) -> Iterator[str]:
    """A directory of programs, and what such programs have beside them."""
    yield place
    above, name = posixpath.split(place)
    if name == "shims":
        yield above
    elif name == "bin":
        yield from (f"{above}/{part}" for part in ("lib", "libexec", "include"))


def package_of(program: str) -> str:
    """What has to be opened for a program, by the path without links: the package of node, or the
    directory.
    """
    parts = program.split("/")
    if "node_modules" in parts:
        return "/".join(parts[: parts.index("node_modules") + 1])
    return posixpath.dirname(program)


def boxed_env(env: Mapping[str, str]) -> dict[str, str]:
    """The environment of a process in a box: temporary files are private, and no socket is named.

    Both CLIs are told in their own words that the box is there.
    """
    kept = {name: value for name, value in env.items() if name not in _NOT_PASSED}
    own = {"TMPDIR": "/tmp", "CLAUDE_CODE_TMPDIR": "/tmp", "IS_SANDBOX": "1"}  # noqa: S108
    return {**kept, **own}
