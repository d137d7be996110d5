"""The record of every act of a person, on every surface, in one chain."""
