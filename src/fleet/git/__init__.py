"""What fleet asks of git: snapshots, branches, clones."""
