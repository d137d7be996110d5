"""Which committed files make a person look at work before it lands. Pure.

What an agent commits is its work and lands as it is. A file that looks like a secret, a very large
one, and very many new ones are as often an accident, and a branch keeps them for good.
"""

from collections.abc import Sequence

from fleet.git.unusual_files import LARGEST, MOST_BYTES, MOST_FILES, NewBlob, is_secret
from fleet.schemas.shown_text import some
from fleet.schemas.units import shown_size

_NAMED = 5


def why_files_ask(files: Sequence[NewBlob]) -> tuple[str, ...]:
    """Why a person has to look at work with these files, a line for each kind."""
    added = [each for each in files if each.is_added]
    reasons: list[str] = []
    if secrets := [each.path for each in added if is_secret(each.path)]:
        reasons.append(f"files that look like secrets: {some(secrets, _NAMED)}")
    if large := [each for each in files if each.size > LARGEST]:
        named = [f"{each.path} ({shown_size(each.size)})" for each in large]
        reasons.append(f"very large files: {some(named, _NAMED)}")
    total = sum(each.size for each in added)
    if len(added) > MOST_FILES or total > MOST_BYTES:
        reasons.append(f"{len(added):,} new files of {shown_size(total)} in all")
    return tuple(reasons)
