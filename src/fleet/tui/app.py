"""`fleet top`: the screen, the keys that look, and the keys that act."""

from typing import ClassVar

from textual.binding import Binding, BindingType

from fleet.tui.key_table import KEYS, TopKey
from fleet.tui.look_keys import LookKeys


def _bindings() -> list[BindingType]:
    """One binding a key; where a key does different things, what is there decides."""
    named: dict[str, list[TopKey]] = {}
    for key in KEYS:
        for name in key.names.split(","):
            named.setdefault(name, []).append(key)
    return [
        Binding(
            name,
            keys[0].action if len(keys) == 1 else f"choose('{name}')",
            keys[0].words,
            show=False,
            priority=name == "tab",
        )
        for name, keys in named.items()
    ]


class TopApp(LookKeys):
    """`fleet top`."""

    BINDINGS: ClassVar[list[BindingType]] = _bindings()

    def action_answer(self) -> None:
        self.acts.answer()

    def action_tell(self) -> None:
        self.acts.tell()

    def action_stop(self) -> None:
        self.acts.each("stop")

    def action_retry(self) -> None:
        self.acts.each("retry")

    def action_way_on(self) -> None:
        self.acts.way_on()

    def action_comment(self) -> None:
        self.acts.comment()

    def action_send_back(self) -> None:
        self.acts.send_back()

    def action_new(self) -> None:
        self.acts.new()

    def action_pause(self) -> None:
        self.acts.pause()

    def action_stop_all(self) -> None:
        self.acts.stop_all()

    def action_directory(self) -> None:
        self.acts.open_directory()

    def action_command(self) -> None:
        self.acts.command()
