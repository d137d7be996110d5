"""The coders: whether each CLI is there, which version, and whether it is logged in.

Nothing here asks a model: the CLIs' own words on their login come from their files.
"""

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

from msgspec import structs

from fleet import coders as registry
from fleet.coders.base import Options
from fleet.coders.environment import agent_env
from fleet.control import Control
from fleet.control.coders import CoderHere, coders_here
from fleet.doctor import claude_login, codex_login
from fleet.doctor.findings import Finding, Patient, Severity
from fleet.schemas import Task

#: How a CLI's login is looked at: its program, and the environment that an agent would have.
Look = Callable[[str, Mapping[str, str]], Iterator[Finding]]


def coders(patient: Patient) -> Iterator[Finding]:
    if patient.config is None:
        return  # said already
    found = coders_here(Control(patient.home, patient.config))
    if not any(coder.default for coder in found):
        what = f"there is no coder {patient.config.coder!r}"
        yield Finding("coder", "error", what, "See: fleet coders")
    for coder in found:
        if coder.default or (coder.path and not coder.problem):
            yield _program(coder)
    there = [coder for coder in found if coder.path and not coder.problem]
    with ThreadPoolExecutor(max_workers=4) as pool:
        looks = [pool.submit(_login, patient, coder) for coder in there]
        for each in looks:
            yield from each.result()


def _program(coder: CoderHere) -> Finding:
    text = f"{coder.name}: {coder.problem or coder.version or coder.remark}"
    broken = coder.problem or (coder.remark and not coder.version)
    severity: Severity = "warning" if broken else "ok"
    fix = f"Install {coder.name}, or choose another (fleet coders): fleet config set coder=…"
    return Finding("coder", severity, text, fix if broken else "")


def _login(patient: Patient, coder: CoderHere) -> list[Finding]:
    """One coder's login, as its agents would have it. A login of another kind (an account) is the
    same with variables of its own.
    """
    look = _LOOKS.get(coder.name)
    if look is None or coder.origin != "built in":
        return []
    findings = look(coder.path, environment(patient, coder.name))
    if coder.default:
        return list(findings)
    # One that tasks have to ask for need not be logged in; what it would cost is told all the same.
    return [
        structs.replace(each, severity="ok") if each.check == "login" else each for each in findings
    ]


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
