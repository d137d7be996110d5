"""A small MCP server on stdio that offers as many tools as it is told to, and does nothing.

python mcp_server.py NAME COUNT
"""

import json
import sys


def tool(name, number):
    about = f"Tool {number} of {name}: looks a thing up in a system that no task of ours needs. "
    field = {"type": "string", "description": "what to look up, in the words of that system"}
    return {
        "name": f"look_up_{number}",
        "description": about * 3,
        "inputSchema": {"type": "object", "properties": {"what": field}, "required": ["what"]},
    }


def answer(name, count, request):
    match request["method"]:
        case "initialize":
            version = request["params"].get("protocolVersion", "2025-03-26")
            about = {"name": name, "version": "1"}
            return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": about}
        case "tools/list":
            return {"tools": [tool(name, number) for number in range(count)]}
        case _:
            return {}


def main(name, count):
    for line in sys.stdin:
        request = json.loads(line)
        if "id" in request:
            reply = {"jsonrpc": "2.0", "id": request["id"], "result": answer(name, count, request)}
            print(json.dumps(reply), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
