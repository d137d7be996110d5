"""Whether claude is logged in, and who pays."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from fleet.coders.claude import home
from fleet.coders.claude.home import read_json, table
from fleet.doctor.check_result import CheckResult, readable_by_others
from fleet.processes.bounded_call import call

_PATIENCE = 10.0
#: claude prefers these to a subscription's login, and they are billed by the token.
_KEYS = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN")
_TOKEN = "CLAUDE_CODE_OAUTH_TOKEN"  # noqa: S105 - the name of a variable
_LOG_IN = f"Log in: claude auth login, or claude setup-token and export {_TOKEN}"


def check_login(program: str, env: Mapping[str, str]) -> Iterator[CheckResult]:
    """What is known of the login without a request to the vendor."""
    stored = home.place(env) / ".credentials.json"
    settings, broken = read_json(home.place(env) / "settings.json")
    if broken:
        what = f"claude: {home.place(env) / 'settings.json'} is passed over: {broken}"
        yield CheckResult(
            "settings", "warning", what, "Mend the file: its permissions do not count."
        )
    subscribed = bool(env.get(_TOKEN)) or bool(table(read_json(stored)[0].get("claudeAiOauth")))
    keys = [name for name in _KEYS if env.get(name)]
    keys += [f"{name} in settings.json" for name in _KEYS if table(settings.get("env")).get(name)]
    keys += ["apiKeyHelper in settings.json"] if settings.get("apiKeyHelper") else []
    if keys and subscribed:
        what = f"claude: {' and '.join(keys)} beside a subscription: it comes first, and is billed"
        fix = f"Take one away: unset {keys[0].split()[0]}, or log the subscription out."
        yield CheckResult("billing", "warning", f"{what} by the token", fix)
    yield _standing(_asked(program, env), keys=keys, subscribed=subscribed)
    yield from readable_by_others("claude", stored)


def _asked(program: str, env: Mapping[str, str]) -> dict[str, Any]:
    """What claude reports on the login; empty if this version has no such command."""
    status = call([program, "auth", "status", "--json"], env=env, cwd=Path("/"), timeout=_PATIENCE)
    try:
        said = json.loads(status.text)
    except (ValueError, RecursionError):
        return {}
    return table(said) if isinstance(table(said).get("loggedIn"), bool) else {}


def _standing(said: Mapping[str, Any], *, keys: list[str], subscribed: bool) -> CheckResult:
    known = bool(said)
    logged_in = bool(said["loggedIn"]) if known else bool(keys) or subscribed
    source = "it says" if known else "by its files and variables"
    if not logged_in:
        return CheckResult("login", "warning", f"claude: not logged in ({source})", _LOG_IN)
    how = str(said.get("subscriptionType") or said.get("authMethod") or "")[:40]
    if keys:
        how = f"{keys[0]}, billed by the token"
    return CheckResult("login", "ok", f"claude: logged in, {how or 'a subscription'} ({source})")
