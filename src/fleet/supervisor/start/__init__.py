"""From a claimed task to a running agent."""
