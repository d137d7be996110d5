"""Values of declared types from JSON and from plain values, in any thread.

msgspec works out the fields of a type when the type is first decoded, and crashes the process if
another thread decodes the same type at that moment. So a type is worked out here, one at a time,
and nothing else of fleet hands a type to msgspec. Records of earlier versions are read here, too.
"""

from _thread import RLock
from collections.abc import Callable
from typing import Any, TypeVar, overload

import msgspec

from fleet.schemas.earlier_words import in_todays_words

T = TypeVar("T")

_DECODERS: dict[Any, msgspec.json.Decoder[Any]] = {}
_one_at_a_time = RLock()


@overload
def decoder(kind: type[T]) -> msgspec.json.Decoder[T]: ...
@overload
def decoder(kind: Any) -> msgspec.json.Decoder[Any]: ...
def decoder(kind: Any) -> msgspec.json.Decoder[Any]:
    """The one decoder of a type, which every thread may use."""
    found = _DECODERS.get(kind)
    if found is None:
        with _one_at_a_time:
            found = _DECODERS[kind] = msgspec.json.Decoder(kind)
    return found


@overload
def decode(data: bytes | str, kind: type[T]) -> T: ...
@overload
def decode(data: bytes | str, kind: Any) -> Any: ...
def decode(data: bytes | str, kind: Any) -> Any:
    """The value of this type in a JSON text. Raises msgspec.DecodeError."""
    try:
        return decoder(kind).decode(data)
    except msgspec.ValidationError as error:
        return _of_earlier(lambda: msgspec.json.decode(data), kind, error)


@overload
def convert(value: Any, kind: type[T]) -> T: ...
@overload
def convert(value: Any, kind: Any) -> Any: ...
def convert(value: Any, kind: Any) -> Any:
    """The value of this type in dicts, lists and scalars. Raises msgspec.ValidationError."""
    decoder(kind)  # works the type out
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        return _of_earlier(lambda: value, kind, error)


def _of_earlier(plain: Callable[[], Any], kind: Any, error: msgspec.ValidationError) -> Any:
    """The value of a record that an earlier version wrote. Raises `error`: it is none."""
    try:
        value = plain()
        today = in_todays_words(value)
        if today == value:
            raise error
    except RecursionError:
        raise error from None
    return msgspec.convert(today, kind)
