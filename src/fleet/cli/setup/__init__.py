"""`fleet init`, `config`, `coders`, `account`, `doctor`: the home and its settings."""
