"""`fleet bd` on the embedded and PostgreSQL queues: the bd commands, answered by fleet.

JSON shapes, exit codes and the meaning of flags are those of bd 1.3; the texts are fleet's own.
`command_line.VERBS` is the table of contents, `command_line.answer` carries out one line.
"""
