"""What a run left, and whether that bears out the claim of the agent."""
