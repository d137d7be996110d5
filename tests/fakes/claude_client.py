"""A light stand-in for claude: the same flags and stream, and a vendor that may refuse it.

It asks the server at ANTHROPIC_BASE_URL for each turn, and does what it answers: use a tool, close
the task, or be refused. Dozens of them run at once where the real one takes 300 MB each.
"""

import http.client
import json
import os
import sys

flags = dict(zip(sys.argv, sys.argv[1:], strict=False))
session = flags.get("--resume") or flags.get("--session-id") or f"s-{os.getpid()}"
config = os.environ.get("CLAUDE_CONFIG_DIR") or os.environ["HOME"] + "/.claude"
login = os.environ.get("ANTHROPIC_API_KEY") or os.environ.get("CLAUDE_CODE_OAUTH_TOKEN") or config
key = "ANTHROPIC_API_KEY" if os.environ.get("ANTHROPIC_API_KEY") else "none"
spool = os.environ["FLEET_SPOOL"]
transcript = config + "/projects/here/" + session + ".jsonl"


def tell(**line):
    os.write(1, (json.dumps(line | {"session_id": session}) + "\n").encode())


def ask():
    """One turn: the vendor's status and words."""
    host = os.environ["ANTHROPIC_BASE_URL"].removeprefix("http://")
    connection = http.client.HTTPConnection(host, timeout=30)
    body = {"login": login, "session": session, "task": os.environ["FLEET_TASK_ID"]}
    connection.request("POST", "/turn", json.dumps(body))
    answer = connection.getresponse()
    return answer.status, json.loads(answer.read())


def limits(words, status):
    info = {"status": status, "rateLimitType": "five_hour", "resetsAt": words.get("resets")}
    if "used" in words:
        info["utilization"] = words["used"]
    tell(type="rate_limit_event", rate_limit_info=info)


def fail(words, error, status):
    message = {"model": "<synthetic>", "content": [{"type": "text", "text": error}]}
    tell(type="assistant", message=message, error=error)
    tell(
        type="result", subtype="success", is_error=True, api_error_status=status,
        result=words.get("error", error), num_turns=1,
    )  # fmt: skip
    sys.exit(1)


if "--resume" in flags and not os.path.exists(transcript):  # noqa: PTH110
    errors = ["No conversation found with session ID: " + session]
    tell(type="result", subtype="error_during_execution", is_error=True, errors=errors)
    sys.exit(1)
os.makedirs(os.path.dirname(transcript), exist_ok=True)  # noqa: PTH103, PTH120
tell(type="system", subtype="init", model="sonnet", apiKeySource=key, claude_code_version="2")
turn = 0
while True:
    turn += 1
    status, words = ask()
    if status == 429 and "resets" in words:
        limits(words, "rejected")
        fail(words, "rate_limit", status)
    if status != 200:
        names = {401: "authentication_failed", 429: "rate_limit", 529: "overloaded"}
        fail(words, names.get(status, "server_error"), status)
    limits(words, "allowed_warning" if "used" in words else "allowed")
    with open(transcript, "a") as file:  # noqa: PTH123
        file.write(json.dumps({"turn": turn, "login": login}) + "\n")
    call = {"type": "tool_use", "id": f"c{turn}", "name": "Bash", "input": {"command": "true"}}
    usage = {"input_tokens": 100, "output_tokens": 10}
    message = {
        "id": f"{session}-{turn}",
        "model": "sonnet",
        "content": [call],
        "usage": usage,
    }
    tell(type="assistant", message=message)
    result = {"type": "tool_result", "tool_use_id": call["id"], "content": "ok"}
    tell(type="user", message={"content": [result]})
    if words["last"]:
        break
with open(spool + "/.close", "w") as file:  # noqa: PTH123 - as `bd close` leaves it
    file.write("fleet-request-1\0003\0bd\0close\0" + os.environ["FLEET_TASK_ID"] + "\0000\0")
os.rename(spool + "/.close", spool + "/close.request")  # noqa: PTH104
tell(
    type="result", subtype="success", is_error=False, result="done", num_turns=turn,
    total_cost_usd=0.01 * turn,
)  # fmt: skip
