"""The coders: whether each CLI is installed, which version, and whether a login is there.

No model is asked: a CLI reports on its login from its own files.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

from msgspec import structs

from fleet import coders as registry
from fleet.accounts import credentials as account_login
from fleet.accounts.kept_secret import SecretTrouble
from fleet.coders.agent_environment import agent_env
from fleet.coders.base import Options
from fleet.coders.trusted_files import untrusted
from fleet.config import Config
from fleet.control import Control
from fleet.control.list_coders import CoderHere, coders_here
from fleet.doctor.check_logins import claude_login, codex_login
from fleet.doctor.check_result import CheckResult, Installation, Severity
from fleet.errors import FleetError
from fleet.schemas import Account, Task

#: Checks the login of a CLI: takes the program, and the environment that an agent would have.
LoginCheck = Callable[[str, Mapping[str, str]], Iterator[CheckResult]]


def coders(installation: Installation) -> Iterator[CheckResult]:
    if installation.config is None and installation.home.config.exists():
        return  # the configuration is broken, which the check `config` reports
    # Coders are listed even before there is a home.
    settings = installation.config or Config()
    found = coders_here(Control(installation.home, settings))
    if not any(coder.default for coder in found):
        what = f"there is no coder {settings.coder!r}"
        yield CheckResult("coder", "error", what, "See: fleet coders")
    there = {coder.name: coder for coder in found if coder.path and not coder.problem}
    for coder in found:
        if coder.default or coder.name in there:
            yield _program(coder, sorted(there))
    if left := untrusted(installation.home.path):
        what = f"not loaded, as no person has trusted their files: {', '.join(left)}"
        way = f"Read them; those that are yours: fleet coders trust {' '.join(left)}"
        yield CheckResult("coder", "warning", what, way)
    accounts = settings.accounts.values()
    # Runs of a coder with accounts do not use the user's own login.
    alone = set(there) - {account.coder for account in accounts}
    with ThreadPoolExecutor(max_workers=4) as pool:
        checks = [pool.submit(_login, installation, there[name]) for name in there if name in alone]
        checks += [
            pool.submit(_account, installation, account, there.get(account.coder))
            for account in accounts
        ]
        for each in checks:
            yield from each.result()


def _program(coder: CoderHere, there: Sequence[str]) -> CheckResult:
    """One CLI. Without any that can run here, no task can be worked on."""
    text = f"{coder.name}: {coder.words}"
    if not coder.problem and (coder.version or not coder.remark):
        return CheckResult("coder", "ok", text)
    if there:
        others = [name for name in there if name != coder.name]
        another = f"fleet config set coder={others[0]}" if others else "see fleet coders"
        return CheckResult("coder", "warning", text, f"{_mend(coder)}, or: {another}")
    what = f"{text}; no other coder can run here either"
    fix = f"{_mend(coder)}, or use another of: fleet coders. To see fleet at work: fleet demo"
    return CheckResult("coder", "error", what, fix)


def _mend(coder: CoderHere) -> str:
    """What makes a coder runnable: the program, or else the file."""
    return f"Install {coder.program}" if coder.program else f"Correct the coder {coder.name}"


def _login(installation: Installation, coder: CoderHere) -> list[CheckResult]:
    """The user's own login of a coder, as the coder's agents would have it."""
    check = _LOGIN_CHECKS.get(coder.name)
    if check is None or coder.origin != "built in":
        return []
    findings = check(coder.path, environment(installation, coder.name))
    # Only the default coder has to be logged in.
    return list(findings) if coder.default else [_mild(each) for each in findings]


def _account(
    installation: Installation, account: Account, coder: CoderHere | None
) -> list[CheckResult]:
    """The login of one account, with the variables of the account."""
    name = f"account {account.name}"
    if coder is None:  # the CLI is not installed
        severity: Severity = "warning" if account.enabled else "ok"
        what = f"{name}: {account.coder} cannot run here"
        return [
            CheckResult("account", severity, what, f"Install {account.coder}; see: fleet coders")
        ]
    try:
        kind = registry.find(account.coder, installation.home.path)
        if trouble := account_login.trouble(account, kind, installation.env):
            raise SecretTrouble(trouble, hint=f"Mend it, then: fleet account check {account.name}")
        given = account_login.variables(account, kind, installation.env)
    except FleetError as error:
        found = [CheckResult("login", "warning", error.message, error.hint)]
    else:
        check = _LOGIN_CHECKS.get(account.coder)
        env = environment(installation, account.coder, given)
        found = list(check(coder.path, env)) if check else []
    told = [
        CheckResult("account", each.severity, f"{name}: {each.what}", _fix(account, each))
        for each in found
    ] or [CheckResult("account", "ok", f"{name}: nothing speaks against it")]
    return told if account.enabled else [structs.replace(each, severity="ok") for each in told]


def _fix(account: Account, finding: CheckResult) -> str:
    out = finding.check == "login" and finding.fix.startswith("Log in")
    return f"Log in: fleet account login {account.name}" if out else finding.fix


def _mild(finding: CheckResult) -> CheckResult:
    if finding.check != "login" or finding.severity == "ok":
        return finding
    what = f"{finding.what.rstrip('.')}; only tasks that ask for it need that"
    return structs.replace(finding, severity="ok", what=what)


def environment(
    installation: Installation,
    name: str,
    login: Mapping[str, str] | None = None,
    options: Options | None = None,
) -> dict[str, str]:
    """The environment of an agent of this coder; `login` are the variables of an account."""
    driver = registry.make(name, options=options, home=installation.home.path)
    now = datetime.now(UTC)
    task = Task(id="fleet-0", title="", created_at=now, updated_at=now, cwd="/")
    return agent_env(installation.env, driver, task, installation.home.tasks / task.id, login)


def _agy(program: str, env: Mapping[str, str]) -> Iterator[CheckResult]:
    del program, env
    what = "agy: its login is in the keyring; only a run shows whether it is good"
    yield CheckResult("login", "ok", what)


_LOGIN_CHECKS: Mapping[str, LoginCheck] = {
    "claude": claude_login,
    "codex": codex_login,
    "agy": _agy,
}
