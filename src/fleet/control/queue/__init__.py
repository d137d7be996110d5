"""The queue as a whole: state and copies, and what came from elsewhere."""
