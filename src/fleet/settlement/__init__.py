"""From how a run ended to what becomes of its task. Pure."""
