"""One module for each family of bd commands; each exports `Verb` values for `bd.VERBS`."""
