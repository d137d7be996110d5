"""A program for the official SDK's own Python: what its client makes of a server, as JSON.

python sdk_client.py legacy|auto TOOL ARGUMENTS SERVER…
"""

import asyncio
import json
import sys

from mcp import StdioServerParameters
from mcp.client.stdio import stdio_client


async def by_session(server, tool, arguments):
    """The client with the handshake, which both generations of the SDK have."""
    from mcp import ClientSession

    async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
        begun = await session.initialize()
        found = begun.model_dump(by_alias=True, mode="json")
        await session.send_ping()
        tools = await session.list_tools()
        called = await session.call_tool(tool, arguments)
        return found["protocolVersion"], tools, called


async def by_client(server, tool, arguments):
    """The client of the second generation, which needs no handshake where the server needs none."""
    from mcp.client.client import Client

    async with Client(server, mode="auto") as client:
        return (
            client.protocol_version,
            await client.list_tools(),
            await client.call_tool(tool, arguments),
        )


async def main(mode, tool, arguments, *argv):
    server = StdioServerParameters(command=argv[0], args=list(argv[1:]))
    ways = {"legacy": by_session, "auto": by_client}
    version, tools, called = await ways[mode](server, tool, json.loads(arguments))
    texts = [part.text for part in called.content]
    wrong = called.model_dump(by_alias=True)["isError"]
    names = [each.name for each in tools.tools]
    print(json.dumps({"version": version, "tools": names, "texts": texts, "wrong": bool(wrong)}))


asyncio.run(main(*sys.argv[1:]))
