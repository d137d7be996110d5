"""Pure rules: whether a run stalls, and which limits a run has reached."""
