"""Words that earlier versions wrote into records, as the words of today. Pure.

`typed` alone reads this table, where a value is not valid as it stands.
"""

from collections.abc import Mapping
from typing import Any, cast

#: By the field that holds the word.
_TODAY: Mapping[str, Mapping[str, str]] = {
    "standing": {
        "plausible": "unchecked", "unverified": "rejected", "out_of_scope": "out of scope",
    },
    "state": {"verified": "waiting"},
    # Of a policy, in run.json and receipt.json.
    "require": {"plausible": "approved"},
    "mode": {"off": "branch"},
}  # fmt: skip
#: What `isolation` of a policy said is said by `work_in`.
_WORK_IN = {"none": "directory", "clone": "clone", "worktree": "clone"}


def in_todays_words(value: Any) -> Any:
    """A copy of dicts, lists and scalars with each earlier word replaced."""
    if isinstance(value, dict):
        fields = cast("dict[Any, Any]", value)
        found = {name: _word(name, in_todays_words(each)) for name, each in fields.items()}
        policy = found.get("policy")
        if isinstance(policy, dict):
            found["policy"] = _with_work_in(cast("dict[str, Any]", policy))
        return found
    if isinstance(value, list):
        return [in_todays_words(each) for each in cast("list[Any]", value)]
    return value


def _with_work_in(policy: dict[str, Any]) -> dict[str, Any]:
    """A policy that says by `work_in` where the run works."""
    if "isolation" not in policy:
        return policy
    rest = {name: value for name, value in policy.items() if name != "isolation"}
    return rest | {"work_in": _WORK_IN.get(policy["isolation"], "clone")}


def _word(name: Any, value: Any) -> Any:
    return _TODAY[name].get(value, value) if name in _TODAY and isinstance(value, str) else value
