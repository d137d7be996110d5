"""Whether claude and codex are logged in, and who pays for their runs."""

import json
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from fleet.coders.claude import home as claude_home
from fleet.coders.claude.home import LARGEST, read_json, table
from fleet.coders.codex import home as codex_home
from fleet.doctor.check_result import CheckResult, readable_by_others
from fleet.files import lenient_read
from fleet.processes.bounded_call import call

_PATIENCE = 10.0
#: claude prefers these to a subscription's login, and they are billed by the token.
_CLAUDE_KEYS = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN")
_CLAUDE_TOKEN = "CLAUDE_CODE_OAUTH_TOKEN"  # noqa: S105 - the name of a variable
_CLAUDE_LOG_IN = f"Log in: claude auth login, or claude setup-token and export {_CLAUDE_TOKEN}"
_CODEX_KEY = "CODEX_API_KEY"
_CODEX_LOG_IN = f"Log in: codex login, or export {_CODEX_KEY}"


def claude_login(program: str, env: Mapping[str, str]) -> Iterator[CheckResult]:
    """What is known of claude's login without a request to the vendor."""
    stored = claude_home.place(env) / ".credentials.json"
    settings, broken = read_json(claude_home.place(env) / "settings.json")
    if broken:
        what = f"claude: {claude_home.place(env) / 'settings.json'} is passed over: {broken}"
        yield CheckResult(
            "settings", "warning", what, "Mend the file: its permissions do not count."
        )
    subscribed = bool(env.get(_CLAUDE_TOKEN)) or bool(
        table(read_json(stored)[0].get("claudeAiOauth"))
    )
    keys = [name for name in _CLAUDE_KEYS if env.get(name)]
    keys += [
        f"{name} in settings.json" for name in _CLAUDE_KEYS if table(settings.get("env")).get(name)
    ]
    keys += ["apiKeyHelper in settings.json"] if settings.get("apiKeyHelper") else []
    if keys and subscribed:
        what = f"claude: {' and '.join(keys)} beside a subscription: it comes first, and is billed"
        fix = f"Take one away: unset {keys[0].split()[0]}, or log the subscription out."
        yield CheckResult("billing", "warning", f"{what} by the token", fix)
    yield _claude_standing(_claude_says(program, env), keys=keys, subscribed=subscribed)
    yield from readable_by_others("claude", stored)


def _claude_says(program: str, env: Mapping[str, str]) -> dict[str, Any]:
    """What claude reports on the login; empty if this version has no such command."""
    status = call([program, "auth", "status", "--json"], env=env, cwd=Path("/"), timeout=_PATIENCE)
    try:
        said = json.loads(status.text)
    except (ValueError, RecursionError):
        return {}
    return table(said) if isinstance(table(said).get("loggedIn"), bool) else {}


def _claude_standing(said: Mapping[str, Any], *, keys: list[str], subscribed: bool) -> CheckResult:
    known = bool(said)
    logged_in = bool(said["loggedIn"]) if known else bool(keys) or subscribed
    source = "it says" if known else "by its files and variables"
    if not logged_in:
        return CheckResult("login", "warning", f"claude: not logged in ({source})", _CLAUDE_LOG_IN)
    how = str(said.get("subscriptionType") or said.get("authMethod") or "")[:40]
    if keys:
        how = f"{keys[0]}, billed by the token"
    return CheckResult("login", "ok", f"claude: logged in, {how or 'a subscription'} ({source})")


def codex_login(program: str, env: Mapping[str, str]) -> Iterator[CheckResult]:
    """What is known of codex's login without a request to the vendor."""
    home = codex_home.place(env)
    config, broken = _codex_config(home / "config.toml")
    if broken:
        what = f"codex: {home / 'config.toml'}: {broken}"
        yield CheckResult(
            "settings", "warning", what, "Mend the file: codex does not start with it."
        )
        return
    stored = home / "auth.json"
    own, damaged = read_json(stored)
    if damaged:
        what = f"codex: {stored}: {damaged}"
        yield CheckResult("login", "warning", what, "Log in anew: codex login")
        return
    subscribed = bool(table(own.get("tokens")))
    if env.get(_CODEX_KEY) and subscribed:
        what = f"codex: {_CODEX_KEY} beside a ChatGPT login: it comes first, billed by the token"
        yield CheckResult(
            "billing", "warning", what, f"Take one away: unset {_CODEX_KEY}, or codex logout."
        )
    standing = _codex_standing(program, env, stored=bool(own)) if home.is_dir() else _unused(env)
    yield _provided(config, env) or standing
    yield from readable_by_others("codex", stored)


def _provided(config: Mapping[str, Any], env: Mapping[str, str]) -> CheckResult | None:
    """The finding for a model provider of the user's own, which names a variable for the key."""
    name = config.get("model_provider")
    provider = table(table(config.get("model_providers")).get(name)) if name else {}
    variable = provider.get("env_key")
    if not isinstance(variable, str) or not variable:
        return None
    if env.get(variable):
        return CheckResult("login", "ok", f"codex: provider {name}, by {variable}")
    what = f"codex: its provider {name} logs in by {variable}, which agents do not get"
    fix = f"Set env_key to {_CODEX_KEY} in config.toml, and export that: fleet passes no other."
    return CheckResult("login", "warning", what, fix)


def _unused(env: Mapping[str, str]) -> CheckResult:
    """The finding where codex has no home: asked for the login, codex would make one."""
    if env.get(_CODEX_KEY):
        return CheckResult("login", "ok", f"codex: logged in, {_CODEX_KEY}, billed by the token")
    return CheckResult("login", "warning", "codex: not logged in (it has no home)", _CODEX_LOG_IN)


def _codex_standing(program: str, env: Mapping[str, str], *, stored: bool) -> CheckResult:
    if env.get(_CODEX_KEY):
        return CheckResult("login", "ok", f"codex: logged in, {_CODEX_KEY}, billed by the token")
    status = call([program, "login", "status"], env=env, cwd=Path("/"), timeout=_PATIENCE)
    lines = [line.strip() for line in f"{status.text}\n{status.err}".splitlines()]
    words = next((line for line in lines if "ogged in" in line or "API key" in line), "")[:100]
    if status.code == 0 and words:
        return CheckResult("login", "ok", f"codex: {_masked(words)} (it says)")
    if status.code is not None and "Not logged in" in words:
        beside = " OPENAI_API_KEY is set, but codex does not read it." if _has_other(env) else ""
        return CheckResult(
            "login", "warning", f"codex: not logged in (it says).{beside}", _CODEX_LOG_IN
        )
    if stored:
        return CheckResult("login", "ok", "codex: has a login in auth.json; it does not say which")
    return CheckResult(
        "login", "warning", "codex: no login was found (by its files)", _CODEX_LOG_IN
    )


def _has_other(env: Mapping[str, str]) -> bool:
    return bool(env.get("OPENAI_API_KEY"))


def _masked(words: str) -> str:
    """Without the part of a key that codex prints."""
    return words.partition(" - ")[0]


def _codex_config(path: Path) -> tuple[dict[str, Any], str]:
    content = lenient_read.read(path, LARGEST)
    if content is None:
        return {}, ""
    if not content.whole:
        return {}, content.problem or f"it is too long: {content.size:,} bytes"
    try:
        return tomllib.loads(content.data.decode()), ""
    except ValueError as error:
        return {}, f"it is not TOML: {error}"
