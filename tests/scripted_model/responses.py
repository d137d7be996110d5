"""OpenAI's responses, as far as an agent CLI reads them."""

import json
import uuid
from typing import Any

#: What a CLI calls its shell, and the argument that takes the command.
_SHELLS = {"exec_command": "cmd", "shell_command": "command"}


def _item(body: dict[str, Any], step: Any) -> dict[str, Any]:
    match type(step).__name__:
        case "Shell":
            offered = {tool.get("name") for tool in body.get("tools", [])}
            name = next(shell for shell in _SHELLS if shell in offered)
            arguments = {_SHELLS[name]: step.command}
        case "Call":
            name, arguments = step.tool, step.input
        case _:
            part = {"type": "output_text", "text": step.text, "annotations": []}
            return {
                "type": "message",
                "id": f"msg_{uuid.uuid4().hex[:12]}",
                "role": "assistant",
                "status": "completed",
                "content": [part],
            }
    server, _, tool = name.rpartition("__")
    if name == "apply_patch":
        kind, payload = "custom_tool_call", {"input": arguments["patch"]}
    elif server.startswith("mcp__"):  # the tools of a server are offered below its name
        name, kind = tool, "function_call"
        payload = {"namespace": server, "arguments": json.dumps(arguments)}
    else:
        kind, payload = "function_call", {"arguments": json.dumps(arguments)}
    return {
        "type": kind,
        "id": f"fc_{uuid.uuid4().hex[:12]}",
        "call_id": f"call_{uuid.uuid4().hex[:12]}",
        "name": name,
        "status": "completed",
        **payload,
    }


def whole(body: dict[str, Any], step: Any) -> dict[str, Any]:
    tokens = step.tokens
    prompt = tokens.fresh + tokens.cached
    return {
        "id": f"resp_{uuid.uuid4().hex[:16]}",
        "object": "response",
        "created_at": 0,
        "status": "completed",
        "model": body.get("model"),
        "output": [_item(body, step)],
        "usage": {
            "input_tokens": prompt,
            "input_tokens_details": {"cached_tokens": tokens.cached},
            "output_tokens": tokens.output,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": prompt + tokens.output,
        },
    }


def events(body: dict[str, Any], step: Any) -> list[dict[str, Any]]:
    done = whole(body, step)
    [item] = done["output"]
    sequence = [
        {"type": "response.created", "response": {**done, "status": "in_progress", "output": []}},
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": done},
    ]
    return [{**event, "sequence_number": n} for n, event in enumerate(sequence)]
