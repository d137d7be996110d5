"""Destructive commands: how they are recognised, and how a hook refuses them."""
