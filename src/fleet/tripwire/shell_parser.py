"""The simple commands in a line of shell, also in quotes, chains, substitutions, here-documents,
and behind programs that run other programs. Pure: nothing is expanded, no file is read.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

#: Text beyond this length, and commands nested deeper than this, are not read.
LONGEST, _DEEPEST = 1 << 16, 8

_RESERVED = frozenset(
    ("{", "}", "!", "if", "then", "elif", "else", "fi", "while", "until", "do", "done", "coproc")
)
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\+?=")
#: Characters without a meaning of their own in shell.
_PLAIN = re.compile(r"[\w./:=,+%@^~*?\[\]{}!-]+")
_PLAIN_QUOTED = re.compile(r'[^"\\`$]+')
_REDIRECTION = re.compile(r"<<<|<<-|<<|<>|<&|<|&>>|&>|>>|>\||>&|>")
_SHELLS = frozenset(["sh", "bash", "dash", "zsh", "ksh", "ash", "fish"])


class Simple(NamedTuple):
    """One command with words as the program would get them, but for expansions."""

    words: tuple[str, ...]
    #: Files that the command writes to by `>`.
    writes: tuple[str, ...] = ()
    #: Text on stdin: a here-document, or what an `echo` pipes into the command.
    stdin: str = ""
    #: Stdin is the output of another command.
    piped: bool = False


def commands(text: str, depth: int = 0) -> Iterator[Simple]:
    """Every simple command of a text, in order, nested ones included."""
    if depth > _DEEPEST:
        return
    echoed = ""
    for simple, nested in _Scanner(text[:LONGEST]).scan():
        for inner in nested:
            yield from commands(inner, depth + 1)
        words = _without_prefixes(simple.words)
        piped = simple._replace(words=words, stdin=simple.stdin or (echoed if simple.piped else ""))
        if words or piped.writes:
            yield from unwrapped(piped, depth)
        echoed = " ".join(words[1:]) if words[:1] in (("echo",), ("printf",)) else ""


def _without_prefixes(words: tuple[str, ...]) -> tuple[str, ...]:
    while words and (words[0] in _RESERVED or _ASSIGNMENT.match(words[0])):
        words = words[1:]
    return words


def program(word: str) -> str:
    """The program behind a path."""
    return word.rpartition("/")[2]


def unwrapped(simple: Simple, depth: int = 1) -> Iterator[Simple]:
    """The command; or, for a program that only runs another command, that command."""
    words = simple.words
    while words and (skip := _WRAPPERS.get(program(words[0]))) is not None:
        words = _without_prefixes(_after_options(words[1:], *skip))
    name = program(words[0]) if words else ""
    if name in _SHELLS:
        yield from commands(_script_of(words, simple.stdin), depth + 1)
    elif name == "eval":
        yield from commands(" ".join(words[1:]), depth + 1)
    elif name == "su" and "-c" in words[:-1]:
        yield from commands(words[words.index("-c") + 1], depth + 1)
    elif name == "ssh":
        yield from commands(
            " ".join(_after_options(words[1:], "bcDEeFIiJLlmOopQRSWw", 1)), depth + 1
        )
    elif words or simple.writes:
        yield simple._replace(words=words)


#: Programs that run the rest of their line: the options that take a word, and how many words
#: come before the command.
_WRAPPERS: dict[str, tuple[str, int]] = {
    "sudo": ("ugpCTRDUrth", 0), "doas": ("uC", 0), "env": ("uCS", 0), "nohup": ("", 0),
    "setsid": ("", 0), "time": ("fo", 0), "command": ("", 0), "builtin": ("", 0), "exec": ("a", 0),
    "stdbuf": ("ioe", 0), "nice": ("n", 0), "ionice": ("cnp", 0), "timeout": ("ks", 1),
    "flock": ("wE", 1), "busybox": ("", 0), "toybox": ("", 0), "npx": ("p", 0), "bunx": ("", 0),
    "chroot": ("", 1), "watch": ("n", 0), "caffeinate": ("", 0), "unbuffer": ("", 0),
}  # fmt: skip


def _after_options(words: tuple[str, ...], with_word: str, places: int) -> tuple[str, ...]:
    """The words after a program's own options and the first `places` arguments."""
    while words and words[0].startswith("-") and words[0] != "-":
        option, words = words[0], words[1:]
        if option == "--":
            break
        if not option.startswith("--") and option[-1] in with_word:
            words = words[1:]
    return words[places:]


def _script_of(words: tuple[str, ...], stdin: str) -> str:
    """The script that a shell runs: the word after `-c`, or stdin."""
    for at, word in enumerate(words[1:], 1):
        if word.startswith("-") and not word.startswith("--") and "c" in word:
            rest = [each for each in words[at + 1 :] if not each.startswith(("-", "+"))]
            return rest[0] if rest else ""
        if not word.startswith(("-", "+")):
            return ""  # a file, which is not read
    return stdin


class _Scanner:
    """Cuts a text into words and operators, as a POSIX shell does."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.word: list[str] | None = None
        self.words: list[str] = []
        self.writes: list[str] = []
        self.nested: list[str] = []
        self.stdin = ""
        self.piped = False
        #: What the next word is: the target of a redirection, or the end of a here-document.
        self.wanted = ""
        self.documents: list[tuple[str, bool]] = []

    def scan(self) -> Iterator[tuple[Simple, list[str]]]:
        while self.at < len(self.text):
            operator = self._step()
            if not operator:
                continue
            self._end_word()
            if operator == "\n":
                self._read_documents()
            yield self._end_command(piped=operator in ("|", "|&"))
        self._end_word()
        yield self._end_command(piped=False)

    def _end_command(self, *, piped: bool) -> tuple[Simple, list[str]]:
        simple = Simple(tuple(self.words), tuple(self.writes), self.stdin, self.piped)
        found = simple, self.nested
        self.words, self.writes, self.nested, self.stdin, self.piped = [], [], [], "", piped
        return found

    def _step(self) -> str:
        """Read one character or more; returns the operator that ends a command, else nothing."""
        text, letter = self.text, self.text[self.at]
        if letter in " \t\r":
            self._end_word()
        elif letter == "#" and self.word is None:
            end = text.find("\n", self.at)
            self.at = len(text) if end < 0 else end
            return ""
        elif letter == "\\":
            if text[self.at + 1 : self.at + 2] != "\n":
                self._add(text[self.at + 1 : self.at + 2])
            self.at += 2
            return ""
        elif letter == "'":
            self._add(self._until_quote("'"))
            return ""
        elif letter == '"':
            self._double_quoted()
            return ""
        elif letter == "`" or text.startswith(("$(", "<(", ">("), self.at):
            self._substitution()
            return ""
        elif text.startswith(("$'", '$"'), self.at):
            pass  # the quote itself comes next
        elif letter in "<>" or text.startswith(("&>", "&>>"), self.at):
            self._redirection()
            return ""
        elif letter in "\n;&|()":
            operator = letter
            self.at += 1
            while operator in "&|;" and text[self.at : self.at + 1] in ("&", "|", ";"):
                operator += text[self.at]
                self.at += 1
            return operator
        elif (plain := _PLAIN.match(text, self.at)) is not None:
            self._add(plain[0])
            self.at = plain.end()
            return ""
        else:
            self._add(letter)
        self.at += 1
        return ""

    def _add(self, text: str) -> None:
        self.word = [] if self.word is None else self.word
        self.word.append(text)

    def _end_word(self) -> None:
        if self.word is None:
            return
        word, self.word = "".join(self.word), None
        if self.wanted == ">":
            self.writes.append(word)
        elif self.wanted in ("<<", "<<-"):
            self.documents.append((word, self.wanted == "<<-"))
        elif self.wanted == "<<<":
            self.stdin = word
        elif not self.wanted:
            self.words.append(word)
        self.wanted = ""

    def _until_quote(self, quote: str) -> str:
        end = self.text.find(quote, self.at + 1)
        end = len(self.text) if end < 0 else end
        inside = self.text[self.at + 1 : end]
        self.at = end + 1
        return inside

    def _double_quoted(self) -> None:
        self._add("")
        self.at += 1
        while self.at < len(self.text) and self.text[self.at] != '"':
            letter = self.text[self.at]
            if letter == "\\" and self.text[self.at + 1 : self.at + 2] in ('"', "\\", "$", "`"):
                self._add(self.text[self.at + 1])
                self.at += 2
            elif letter == "`" or self.text.startswith("$(", self.at):
                self._substitution()
            else:
                plain = _PLAIN_QUOTED.match(self.text, self.at)
                self._add(plain[0] if plain else letter)
                self.at = plain.end() if plain else self.at + 1
        self.at += 1

    def _substitution(self) -> None:
        """`$(…)` or backquotes: the commands inside are nested, their output is not known."""
        if self.text[self.at] == "`":
            self.nested.append(self._until_quote("`"))
        else:
            end = _closing(self.text, self.at + 1)
            self.nested.append(self.text[self.at + 2 : end])
            self.at = end + 1
        self._add("$()")

    def _redirection(self) -> None:
        """Take the file behind `>` as a word; a number before `>` is a descriptor."""
        if self.word and "".join(self.word).isdecimal():
            self.word = None
        self._end_word()
        match = _REDIRECTION.match(self.text, self.at)
        assert match is not None
        self.at = match.end()
        operator = match[0]
        reads = operator in ("<", "<>", "<&")
        self.wanted = "<" if reads else operator if operator.startswith("<<") else ">"

    def _read_documents(self) -> None:
        """Read the lines of here-documents. In a pipe they count as stdin of the last command,
        which is where `cat <<EOF | sh` sends them.
        """
        for end, indented in self.documents:
            lines: list[str] = []
            while self.at < len(self.text):
                line, _, _ = self.text[self.at :].partition("\n")
                self.at += len(line) + 1
                if (line.lstrip("\t") if indented else line) == end:
                    break
                lines.append(line)
            self.stdin = "\n".join(lines)
        self.documents = []


def _closing(text: str, at: int) -> int:
    """Where the bracket at `at` is closed; the end if nowhere."""
    depth, quote = 0, ""
    while at < len(text):
        letter = text[at]
        if letter == "\\":
            at += 1
        elif quote:
            quote = "" if letter == quote else quote
        elif letter in "'\"":
            quote = letter
        elif letter in "()":
            depth += 1 if letter == "(" else -1
            if depth == 0:
                return at
        at += 1
    return len(text)
