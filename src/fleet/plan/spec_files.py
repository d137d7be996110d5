"""What a reader of a spec is given, and how a reader says that a file is wrong. Pure."""

from msgspec import Struct

from fleet.errors import BadInput

#: Problems of one file that are told at once.
_MOST_SHOWN = 10


class SpecFile(Struct, frozen=True, kw_only=True):
    """One file of a spec, read."""

    #: How it is called in errors, and in what agents are told.
    name: str
    text: str


class SpecText(Struct, frozen=True, kw_only=True):
    """The files of a spec: those with tasks, and what lies beside them."""

    #: What the spec is called: the feature's directory, or the file without its ending.
    title: str
    files: tuple[SpecFile, ...]
    #: Documents that belong to the spec and hold no tasks.
    beside: tuple[SpecFile, ...] = ()
    #: Which of several lists in one file is meant; task-master calls it a tag.
    tag: str = ""

    @property
    def main(self) -> SpecFile:
        return self.files[0]

    def document(self, name: str) -> SpecFile | None:
        """A document beside the tasks, by file name."""
        return next((each for each in self.beside if each.name.endswith(name)), None)


def refuse(problems: list[str], *, hint: str = "") -> None:
    """Raise BadInput with these problems, each a line that begins with the place; none: go on."""
    if not problems:
        return
    more = len(problems) - _MOST_SHOWN
    shown = problems[:_MOST_SHOWN] + ([f"… and {more} more"] if more > 0 else [])
    raise BadInput("\n".join(shown), hint=hint)
