"""fleet: many coding agents, one task queue, one supervisor."""

__version__ = "0.1.0"
