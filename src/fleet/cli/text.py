"""Text from tasks and agents on a person's terminal: shown as it is, never obeyed."""


def one_line(text: str) -> str:
    """Text on one line; control characters are shown as escapes."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def lines(text: str, indent: str = "  ") -> str:
    """Text on its own lines, each indented and free of control characters."""
    return "\n".join(f"{indent}{one_line(line)}".rstrip() for line in text.splitlines())
