"""What all forms share."""

from typing import TypeVar

from textual.screen import ModalScreen

Typed = TypeVar("Typed")


class Form(ModalScreen[Typed]):
    """A box over the screen that ends in what was typed."""

    def ring(self) -> None:
        """Ring the terminal's bell: the form cannot be sent like this."""
        self.app.bell()  # pyright: ignore[reportUnknownMemberType] - Textual leaves its app open
