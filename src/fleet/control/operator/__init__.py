"""What an operator's MCP server reads, and how a client finds that server."""
