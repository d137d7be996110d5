"""Writes `core/shapes.d.ts` of the page: the JSON of `/api/v1` as types for `tsc`, from Structs.

`make docs` runs this, and a test compares: a renamed field breaks `make check`, not the page.
"""

from pathlib import Path
from typing import Any

import msgspec
from msgspec import inspect

from fleet.control.acts.create import KnownPlaces
from tests.docs.api_reference import SHAPES

FILE = Path(__file__).parents[2] / "src/fleet/web/static/core/shapes.d.ts"


def written() -> str:
    """The content of the file."""
    shapes: dict[str, inspect.StructType] = {}
    for root in (*SHAPES, KnownPlaces):
        _collect(inspect.type_info(root), shapes)
    parts = [
        "// The JSON of /api/v1, written by `make docs` from fleet's own Structs. Not by hand.\n"
    ]
    parts += [_interface(name, shapes[name]) for name in sorted(shapes)]
    return "\n".join(parts)


def _collect(kind: inspect.Type, shapes: dict[str, inspect.StructType]) -> None:
    match kind:
        case inspect.StructType():
            if kind.cls.__name__ not in shapes:
                shapes[kind.cls.__name__] = kind
                for field in kind.fields:
                    _collect(field.type, shapes)
        case inspect.UnionType():
            for each in kind.types:
                _collect(each, shapes)
        case (
            inspect.VarTupleType()
            | inspect.ListType()
            | inspect.SetType()
            | inspect.FrozenSetType()
        ):
            _collect(kind.item_type, shapes)
        case inspect.TupleType():
            for each in kind.item_types:
                _collect(each, shapes)
        case inspect.DictType():
            _collect(kind.value_type, shapes)
        case inspect.Metadata():
            _collect(kind.type, shapes)
        case _:
            pass


def _interface(name: str, kind: inspect.StructType) -> str:
    left_out = kind.cls.__struct_config__.omit_defaults
    lines = [f"export interface {name} {{"]
    if kind.tag is not None:
        lines.append(f"  {kind.tag_field}: {_literal(kind.tag)};")
    for field in kind.fields:
        mark = "?" if left_out and not field.required else ""
        lines.append(f"  {field.encode_name}{mark}: {_type(field.type)};")
    return "\n".join([*lines, "}\n"])


def _literal(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def _type(kind: inspect.Type) -> str:
    match kind:
        case inspect.StructType():
            return kind.cls.__name__
        case inspect.LiteralType():
            return " | ".join(_literal(value) for value in kind.values)
        case inspect.NoneType():
            return "null"
        case inspect.BoolType():
            return "boolean"
        case inspect.IntType() | inspect.FloatType():
            return "number"
        case inspect.UnionType():
            return " | ".join(_type(each) for each in kind.types)
        case (
            inspect.VarTupleType()
            | inspect.ListType()
            | inspect.SetType()
            | inspect.FrozenSetType()
        ):
            inner = _type(kind.item_type)
            return f"({inner})[]" if " | " in inner else f"{inner}[]"
        case inspect.TupleType():
            return f"[{', '.join(_type(each) for each in kind.item_types)}]"
        case inspect.DictType():
            return f"Record<string, {_type(kind.value_type)}>"
        case inspect.AnyType():
            return "unknown"
        case inspect.Metadata():
            return _type(kind.type)
        case _:
            return "string"


if __name__ == "__main__":
    FILE.write_text(written(), "utf-8")
