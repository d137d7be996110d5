"""`bd` verbs that are used less often."""
