"""Pure rules: whether a run stalls, and which limits it has reached."""
