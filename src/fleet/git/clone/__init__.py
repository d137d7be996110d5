"""The clone of a task: a working tree with a separate git directory, in the home.

An agent may write everything in there, its git directory included. So fleet reads that directory
as files (`agent_git_dir`), never lets git take it for a repository, and brings the work into the
project's repository through a git directory of its own (`collect_work`).
"""
