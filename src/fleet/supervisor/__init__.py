"""The supervisor: it runs agents for leased tasks, and holds nothing that it cannot rebuild."""
