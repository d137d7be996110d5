"""`fleet mcp --operator`: fleet for people's own agents, by the Model Context Protocol."""
