"""From the end of a run to the settlement of its task."""
