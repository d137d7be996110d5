"""A git directory of fleet's own over a working tree, that nothing of an agent's can change."""
