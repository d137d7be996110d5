"""Landing beyond this repository: on the remote of a branch, and by pull requests."""
