"""fleet's MCP server in the words of the CLIs that take one for a run: flags, and nothing written.

Pure. The server is a comfort and no condition: a run goes on without it, and the files remain.
"""

import json

from fleet.coders.base import ToolServer

#: What the CLIs call the server; its tools are `mcp__fleet__ask_human` and so on.
NAME = "fleet"
#: Milliseconds that codex waits at its start for a server that is slow, on a busy machine.
_GRACE_MS = 8000


def for_claude(server: ToolServer) -> str:
    """A value for `--mcp-config`: the server is loaded at once, and not only found by a search."""
    command, *args = server.argv
    entry = {
        "command": command,
        "args": args,
        "alwaysLoad": True,
        "timeout": server.timeout * 1000,
    }
    return json.dumps({"mcpServers": {NAME: entry}})


def for_codex(server: ToolServer) -> list[str]:
    """Words for the command line. Not `required`: then a server that dies would end the run."""
    command, *args = server.argv
    table = f"mcp_servers.{NAME}"
    settings = {
        f"{table}.command": json.dumps(command),
        f"{table}.args": json.dumps(args),
        f"{table}.tool_timeout_sec": str(server.timeout),
        # codex's sandbox would have each call approved by a person, who is not there.
        f"{table}.default_tools_approval_mode": '"approve"',
        "mcp_optional_startup_grace_ms": str(_GRACE_MS),
    }
    return [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
