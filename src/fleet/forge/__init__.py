"""Pull requests on GitHub, Gitea and Forgejo: opening, watching, merging, and what follows."""
