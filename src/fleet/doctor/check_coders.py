"""The coders: whether each CLI is there, which version, and whether it is logged in.

Nothing here asks a model: the CLIs' own words on their login come from their files.
"""

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

from msgspec import structs

from fleet import coders as registry
from fleet.accounts import credentials as account_login
from fleet.accounts.credentials import AccountTrouble
from fleet.coders.agent_environment import agent_env
from fleet.coders.base import Options
from fleet.config import Config
from fleet.control import Control
from fleet.control.list_coders import CoderHere, coders_here
from fleet.doctor import claude_login, codex_login
from fleet.doctor.finding import Finding, Patient, Severity
from fleet.errors import FleetError
from fleet.schemas import Account, Task

#: How a CLI's login is looked at: its program, and the environment that an agent would have.
Look = Callable[[str, Mapping[str, str]], Iterator[Finding]]


def coders(patient: Patient) -> Iterator[Finding]:
    if patient.config is None and patient.home.config.exists():
        return  # it is broken, which is said already
    # Somebody who has no home yet wants to know what there is all the same.
    settings = patient.config or Config()
    found = coders_here(Control(patient.home, settings))
    if not any(coder.default for coder in found):
        what = f"there is no coder {settings.coder!r}"
        yield Finding("coder", "error", what, "See: fleet coders")
    for coder in found:
        if coder.default or (coder.path and not coder.problem):
            yield _program(coder)
    there = {coder.name: coder for coder in found if coder.path and not coder.problem}
    accounts = settings.accounts.values()
    # With accounts of its own, a coder's runs do not use the user's login.
    alone = set(there) - {account.coder for account in accounts}
    with ThreadPoolExecutor(max_workers=4) as pool:
        looks = [pool.submit(_login, patient, there[name]) for name in there if name in alone]
        looks += [
            pool.submit(_account, patient, account, there.get(account.coder))
            for account in accounts
        ]
        for each in looks:
            yield from each.result()


def _program(coder: CoderHere) -> Finding:
    text = f"{coder.name}: {coder.problem or coder.version or coder.remark}"
    broken = coder.problem or (coder.remark and not coder.version)
    severity: Severity = "warning" if broken else "ok"
    fix = f"Install {coder.name}, or choose another (fleet coders): fleet config set coder=…"
    return Finding("coder", severity, text, fix if broken else "")


def _login(patient: Patient, coder: CoderHere) -> list[Finding]:
    """The user's own login of a coder, as its agents would have it."""
    look = _LOOKS.get(coder.name)
    if look is None or coder.origin != "built in":
        return []
    findings = look(coder.path, environment(patient, coder.name))
    # One that tasks have to ask for need not be logged in; what it would cost is told all the same.
    return list(findings) if coder.default else [_mild(each) for each in findings]


def _account(patient: Patient, account: Account, coder: CoderHere | None) -> list[Finding]:
    """One account: the same with variables of its own."""
    name = f"account {account.name}"
    if coder is None:  # its program is not here
        severity: Severity = "warning" if account.enabled else "ok"
        what = f"{name}: {account.coder} cannot run here"
        return [Finding("account", severity, what, f"Install {account.coder}; see: fleet coders")]
    try:
        kind = registry.find(account.coder, patient.home.path)
        if trouble := account_login.trouble(account, kind, patient.env):
            raise AccountTrouble(trouble, hint=f"Mend it, then: fleet account check {account.name}")
        given = account_login.variables(account, kind, patient.env)
    except FleetError as error:
        found = [Finding("login", "warning", error.message, error.hint)]
    else:
        look = _LOOKS.get(account.coder)
        env = environment(patient, account.coder, given)
        found = list(look(coder.path, env)) if look else []
    told = [
        Finding("account", each.severity, f"{name}: {each.what}", _fix(account, each))
        for each in found
    ] or [Finding("account", "ok", f"{name}: nothing speaks against it")]
    return told if account.enabled else [structs.replace(each, severity="ok") for each in told]


def _fix(account: Account, finding: Finding) -> str:
    out = finding.check == "login" and finding.fix.startswith("Log in")
    return f"Log in: fleet account login {account.name}" if out else finding.fix


def _mild(finding: Finding) -> Finding:
    if finding.check != "login" or finding.severity == "ok":
        return finding
    what = f"{finding.what.rstrip('.')}; only tasks that ask for it need that"
    return structs.replace(finding, severity="ok", what=what)


def environment(
    patient: Patient,
    name: str,
    extra: Mapping[str, str] | None = None,
    options: Options | None = None,
) -> dict[str, str]:
    """What an agent of this coder would find; `extra` is what an account sets."""
    driver = registry.make(name, options=options, home=patient.home.path)
    now = datetime.now(UTC)
    task = Task(id="fleet-0", title="", created_at=now, updated_at=now, cwd="/")
    return agent_env(patient.env, driver, task, patient.home.tasks / task.id, extra)


def _agy(program: str, env: Mapping[str, str]) -> Iterator[Finding]:
    del program, env
    what = "agy: its login is in the keyring; only a run shows whether it is good"
    yield Finding("login", "ok", what)


_LOOKS: Mapping[str, Look] = {
    "claude": claude_login.look,
    "codex": codex_login.look,
    "agy": _agy,
}
