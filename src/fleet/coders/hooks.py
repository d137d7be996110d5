"""fleet's hook in the words of the CLIs that have hooks: for this run only, beside the user's own.

Pure. Nothing is written to a project or to a user's settings: all of it goes on the command line.
"""

import json
import shlex
from hashlib import sha256

#: Seconds that a CLI waits for the hook; it takes milliseconds.
_TIMEOUT = 60


def _events(hook: str, *, failures: bool, refuse: bool) -> dict[str, tuple[str, str]]:
    """Which events call the hook, for which tools, and how."""
    program = shlex.quote(hook)
    events = {"PostToolUse": "*", "Stop": ""}
    if failures:
        events["PostToolUseFailure"] = "*"
    if refuse:
        events["PreToolUse"] = "Bash"
    return {name: (tools, f"{program} {name}") for name, tools in events.items()}


def for_claude(hook: str, *, refuse: bool) -> str:
    """A value for `--settings`, which adds to the settings that there are."""
    hooks = {
        name: [
            {
                **({"matcher": tools} if tools else {}),
                "hooks": [{"type": "command", "command": command, "timeout": _TIMEOUT}],
            }
        ]
        for name, (tools, command) in _events(hook, failures=True, refuse=refuse).items()
    }
    return json.dumps({"hooks": hooks})


def for_codex(hook: str, *, refuse: bool) -> str:
    """A value for `-c`: hooks of this session, and the word that these very ones are trusted.

    codex runs trusted hooks only. Its flag that trusts all hooks would trust the project's too, so
    codex is given the digest of fleet's hook instead. A codex that computes the digest in another
    way does not run the hook, and messages wait for the next run.
    """
    hooks: list[str] = []
    trust: list[str] = []
    for name, (tools, command) in _events(hook, failures=False, refuse=refuse).items():
        matcher = f"matcher={json.dumps(tools)}," if tools else ""
        handler = f'{{type="command",command={json.dumps(command)},timeout={_TIMEOUT}}}'
        hooks.append(f"{name}=[{{{matcher}hooks=[{handler}]}}]")
        label = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)[1:]
        key = json.dumps(f"/<session-flags>/config.toml:{label}:0:0")
        trust.append(f'{key}={{trusted_hash="{_digest(label, tools, command)}"}}')
    return f"hooks={{{','.join(hooks)},state={{{','.join(trust)}}}}}"


def _digest(label: str, tools: str, command: str) -> str:
    handler = {"type": "command", "command": command, "timeout": _TIMEOUT, "async": False}
    known = {"event_name": label, "hooks": [handler], **({"matcher": tools} if tools else {})}
    plain = json.dumps(known, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return f"sha256:{sha256(plain.encode()).hexdigest()}"
