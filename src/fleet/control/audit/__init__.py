"""Who did what: every act of a person, on every surface, in one chain."""
