"""What a run left, and whether it bears out the claim of its agent."""
