"""fleet's MCP server for agents: the protocol, the three tools, and what fleet makes of a call.

`line_server.py` and `tool_server.py` are one program with the client of the drop box, started as
`python -I -S mcp.pyc BOX`: both CLIs silently leave out a server that starts slowly. They import
nothing but the standard library and each other.
"""
