"""Whether codex is logged in, and who pays."""

import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from fleet.coders.claude.home import LARGEST, read_json, table
from fleet.coders.codex import home as codex_home
from fleet.doctor.check_result import CheckResult, readable_by_others
from fleet.files import lenient_read
from fleet.processes.bounded_call import call

_PATIENCE = 10.0
_KEY = "CODEX_API_KEY"
_LOG_IN = f"Log in: codex login, or export {_KEY}"


def check_login(program: str, env: Mapping[str, str]) -> Iterator[CheckResult]:
    """What is known of the login without a request to the vendor."""
    home = codex_home.place(env)
    config, broken = _config(home / "config.toml")
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
    if env.get(_KEY) and subscribed:
        what = f"codex: {_KEY} beside a ChatGPT login: it comes first, and is billed by the token"
        yield CheckResult(
            "billing", "warning", what, f"Take one away: unset {_KEY}, or codex logout."
        )
    standing = _standing(program, env, stored=bool(own)) if home.is_dir() else _unused(env)
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
    fix = f"Set env_key to {_KEY} in config.toml, and export that: fleet passes no other."
    return CheckResult("login", "warning", what, fix)


def _unused(env: Mapping[str, str]) -> CheckResult:
    """The finding where codex has no home: asked for the login, codex would make one."""
    if env.get(_KEY):
        return CheckResult("login", "ok", f"codex: logged in, {_KEY}, billed by the token")
    return CheckResult("login", "warning", "codex: not logged in (it has no home)", _LOG_IN)


def _standing(program: str, env: Mapping[str, str], *, stored: bool) -> CheckResult:
    if env.get(_KEY):
        return CheckResult("login", "ok", f"codex: logged in, {_KEY}, billed by the token")
    status = call([program, "login", "status"], env=env, cwd=Path("/"), timeout=_PATIENCE)
    lines = [line.strip() for line in f"{status.text}\n{status.err}".splitlines()]
    words = next((line for line in lines if "ogged in" in line or "API key" in line), "")[:100]
    if status.code == 0 and words:
        return CheckResult("login", "ok", f"codex: {_masked(words)} (it says)")
    if status.code is not None and "Not logged in" in words:
        beside = " OPENAI_API_KEY is set, but codex does not read it." if _has_other(env) else ""
        return CheckResult("login", "warning", f"codex: not logged in (it says).{beside}", _LOG_IN)
    if stored:
        return CheckResult("login", "ok", "codex: has a login in auth.json; it does not say which")
    return CheckResult("login", "warning", "codex: no login was found (by its files)", _LOG_IN)


def _has_other(env: Mapping[str, str]) -> bool:
    return bool(env.get("OPENAI_API_KEY"))


def _masked(words: str) -> str:
    """Without the part of a key that codex prints."""
    return words.partition(" - ")[0]


def _config(path: Path) -> tuple[dict[str, Any], str]:
    content = lenient_read.read(path, LARGEST)
    if content is None:
        return {}, ""
    if not content.whole:
        return {}, content.problem or f"it is too long: {content.size:,} bytes"
    try:
        return tomllib.loads(content.data.decode()), ""
    except ValueError as error:
        return {}, f"it is not TOML: {error}"
