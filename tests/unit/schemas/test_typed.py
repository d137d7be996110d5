"""Types that msgspec works out for the first time, in many threads at once."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest
from msgspec import Struct, ValidationError

import fleet
from fleet.schemas import typed

SOURCE = Path(fleet.__file__).parent
#: What hands a type to msgspec, which then works it out.
WORKS_OUT = ("msgspec.convert", "msgspec.json.Decoder")
DECODES = ("msgspec.json.decode", "msgspec.toml.decode")
#: Four threads decode each of many new types at the same moment, and give way to each other often.
RACE = """
import sys, threading
from msgspec import Struct, StructMeta
from fleet.schemas import typed

sys.setswitchinterval(1e-6)

def new(name, **fields):
    return StructMeta(name, (Struct,), {"__annotations__": fields, "__module__": __name__})

for number in range(400):
    fields = {"x": "int", "y": "dict[str, list[int]] | None"}
    parts = {f"part{n}": new(f"Part{n}", **fields) for n in range(4)}
    whole = new("Whole", first=int, **parts)
    text = b'{"first":1,' + b",".join(b'"part%d":{"x":1,"y":null}' % n for n in range(4)) + b"}"
    together = threading.Barrier(4)

    def decode():
        together.wait()
        assert typed.decode(text, whole).part3.x == 1

    threads = [threading.Thread(target=decode) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
"""


class Point(Struct):
    x: int


def test_threads_that_decode_a_new_type_at_once_do_not_crash():
    """A supervisor died of this under load: the fields of a nested type were not there yet."""
    done = subprocess.run([sys.executable, "-c", RACE], timeout=100, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_json_and_plain_values_become_a_type():
    """Or an error says where they differ from it."""
    assert typed.decode(b'{"x":1}', Point) == typed.convert({"x": 1}, Point) == Point(1)
    assert typed.decode("[1]", list[int]) == [1]
    assert typed.decoder(Point) is typed.decoder(Point)
    with pytest.raises(ValidationError, match=r"\$\.x"):
        typed.convert({"x": "one"}, Point)


def hands_a_type_over(node):
    name, more = ast.unparse(node.func), len(node.args) + len(node.keywords) > 1
    return name in WORKS_OUT or (name in DECODES and more)


def test_nothing_else_hands_a_type_to_msgspec():
    """One lock guards the types only if every type goes through it."""
    found = [
        f"{path.relative_to(SOURCE)}:{node.lineno}"
        for path in sorted(SOURCE.rglob("*.py"))
        if path != SOURCE / "schemas/typed.py" and "msgspec" in (text := path.read_text("utf-8"))
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call) and hands_a_type_over(node)
    ]
    assert found == []
