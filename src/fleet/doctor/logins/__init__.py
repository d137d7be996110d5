"""Whether each CLI is logged in, and who pays for its runs."""
