"""What fleet asks of git: snapshots, branches, worktrees."""
