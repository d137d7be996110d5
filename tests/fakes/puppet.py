"""A coder for stories: the task's description is the shell script that its agent runs, and each
line that it prints is an event, as JSON in fleet's own shape or as plain text.
"""

import msgspec

from fleet.coders.base import Coder
from fleet.schemas import Event


class Puppet(Coder):
    name = "puppet"
    context_limit = 1000
    program = "sh"

    def build_argv(self, task, task_dir):
        return ["sh", "-c", task.description]

    def normalize_event(self, raw_line):
        if not raw_line.startswith("{"):
            return Event(kind="assistant_text", text=raw_line.strip())
        return msgspec.json.decode(raw_line, type=Event)
