"""Anthropic's messages, as far as an agent CLI reads them."""

import json
import uuid
from typing import Any


def _block(body: dict[str, Any], step: Any) -> dict[str, Any]:
    del body
    match type(step).__name__:
        case "Shell":
            tool = {"name": "Bash", "input": {"command": step.command, "description": "a step"}}
        case "Call":
            tool = {"name": step.tool, "input": step.input}
        case _:
            return {"type": "text", "text": step.text}
    return {"type": "tool_use", "id": f"toolu_{uuid.uuid4().hex[:16]}", **tool}


def _usage(step: Any, output: int) -> dict[str, int]:
    return {
        "input_tokens": step.tokens.fresh,
        "cache_read_input_tokens": step.tokens.cached,
        "cache_creation_input_tokens": 0,
        "output_tokens": output,
    }


def whole(body: dict[str, Any], step: Any) -> dict[str, Any]:
    block = _block(body, step)
    return {
        "id": f"msg_{uuid.uuid4().hex[:16]}",
        "type": "message",
        "role": "assistant",
        "model": body.get("model"),
        "content": [block],
        "stop_reason": "tool_use" if block["type"] == "tool_use" else "end_turn",
        "stop_sequence": None,
        "usage": _usage(step, step.tokens.output),
    }


def events(body: dict[str, Any], step: Any) -> list[dict[str, Any]]:
    message = whole(body, step)
    [block] = message["content"]
    start = {**message, "content": [], "stop_reason": None, "usage": _usage(step, 1)}
    if block["type"] == "text":
        empty, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": block["text"]}
    else:
        empty = {**block, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
    end = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    return [
        {"type": "message_start", "message": start},
        {"type": "content_block_start", "index": 0, "content_block": empty},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": end, "usage": {"output_tokens": step.tokens.output}},
        {"type": "message_stop"},
    ]
