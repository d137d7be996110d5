"""What an operator's MCP server reads, and how a client is told of it."""
