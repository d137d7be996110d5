"""`fleet init`, `config`, `coders`, `account`, `doctor`: the home and the settings."""
