"""What commits that fleet makes for a task say: the task's title and id, and who their author is.

The author is the person for whom the project's git is set up. An agent's clone is never asked: its
agent may have written any name into its configuration.
"""

import re
from typing import Self

from msgspec import Struct

from fleet.git.git_command import GitFailed
from fleet.git.repository import Repository
from fleet.git.user_settings import known_settings

#: The line of a commit's message that says which task the commit belongs to.
TRAILER = "Fleet-Task"
#: Longer titles are cut in the first line of a message.
_LONGEST = 200
#: What git itself takes off both ends of a name, and refuses inside of one.
_ENDS = " .,:;\"'\\\t"
_NOT_INSIDE = "<>\n\0"
_TRAILER_LINE = re.compile(rb"[A-Za-z0-9-]+: ")


class Author(Struct, frozen=True, kw_only=True):
    """The person that a commit names as author and committer."""

    name: str
    email: str

    @classmethod
    def plain(cls, name: str, email: str) -> Self:
        """An author whom git accepts; what is missing is fleet's own."""
        return cls(name=_clean(name) or FLEET.name, email=_clean(email) or FLEET.email)

    @property
    def variables(self) -> dict[str, str]:
        """The author as git's environment has it."""
        both = {"NAME": self.name, "EMAIL": self.email}
        return {f"GIT_{who}_{key}": both[key] for who in ("AUTHOR", "COMMITTER") for key in both}


#: The author where git knows of none.
FLEET = Author(name="fleet", email="fleet@localhost")


def author_in(repo: Repository | None) -> Author:
    """The author that git has for the person in a project, or outside of any (None)."""
    try:
        found = known_settings(repo)
    except GitFailed:
        return FLEET
    name = found.get("author.name") or found.get("user.name", "")
    email = found.get("author.email") or found.get("user.email", "")
    return Author.plain(name, email)


def message_of(title: str, task_id: str) -> str:
    """The message of a commit for a task: the title, and the trailer with the id. Pure."""
    return _message(_line(title, _LONGEST) or task_id, task_id)


def merge_message_of(title: str, task_id: str) -> str:
    """The message of a merge of a task's work: `TITLE (ID)`, so that the subject differs from that
    of the merged commit. Pure.
    """
    named = f" ({task_id})"
    subject = _line(title, _LONGEST - len(named))
    return _message(f"{subject}{named}" if subject else task_id, task_id)


def marked(message: bytes, task_id: str) -> bytes:
    """The message of an agent's own commit with the trailer of the task. Pure."""
    line, text = f"{TRAILER}: {task_id}".encode(), message.rstrip(b"\n")
    if line in text.split(b"\n"):
        return message
    above, _, last = text.rpartition(b"\n\n")
    trailers = bool(above) and all(_TRAILER_LINE.match(each) for each in last.split(b"\n"))
    return text + (b"\n" if trailers else b"\n\n") + line + b"\n"


def title_in(subject: str, task_id: str) -> str:
    """The title of a task, from the subject of a commit for that task. Pure."""
    return subject.removesuffix(f" ({task_id})")


def _message(subject: str, task_id: str) -> str:
    return f"{subject}\n\n{TRAILER}: {task_id}\n"


def _line(title: str, longest: int) -> str:
    """A title as one line of printable letters."""
    words = "".join(letter if letter.isprintable() else " " for letter in title)
    line = " ".join(words.split())
    return f"{line[: max(0, longest - 1)]}…" if len(line) > longest else line


def _clean(text: str) -> str:
    kept = "".join(letter for letter in text if letter >= " " and letter not in _NOT_INSIDE)
    return kept.strip(_ENDS)
