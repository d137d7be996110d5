"""Claims of real CLIs whose work is not on the branch: the same session hears where it is, and
brings it.
"""

import subprocess

import pytest

from fleet.runs import receipt_json
from tests.conftest import coders
from tests.real.house import CLOSE
from tests.scripted_model import Say, ScriptedModel, Shell

FIX = "echo fixed > calc; git commit -qam 'fix add'"
#: What the agent does, and does about the refusal.
CASES = {
    "branch": (f"git checkout -qb other; {FIX}; git checkout -q -", "git merge -q other"),
    "stash": ("echo fixed > calc; git stash -q", "git stash pop -q"),
    "reset": (f"{FIX}; git reset -q --hard HEAD~1", "git merge -q 'HEAD@{1}'"),
}


def in_project(here, *words):
    argv = ["git", "-C", str(here.project), *words]
    return subprocess.check_output(argv, env=here.env, text=True).rstrip("\n")


@pytest.mark.parametrize("case", CASES)
@coders("claude", "codex")
def test_work_elsewhere_is_brought_by_the_session_that_did_it(house, coder, case):
    """Refused once, told where the work is, and landed."""
    work, mend = CASES[case]
    script = (Shell(command=work), CLOSE, Say(), Shell(command=mend), CLOSE, Say())
    with ScriptedModel(*script) as model:
        here = house(coder, model)
        (here.project / "calc").write_text("broken\n")
        who = ["config", "user.name", "Ann"], ["config", "user.email", "ann@example.org"]
        for words in (["init", "-qb", "main"], *who, ["add", "-A"], ["commit", "-qm", "start"]):
            in_project(here, *words)
        here.configure(permissions="bypass", land="auto", retry_limit=2)
        here.create(coder, "Fix add")
        here.fleet("run", "--until-idle")
        first, second = here.ending(1), here.ending(2)
        assert first["broke"] == ["work_elsewhere"]
        assert (second["resumed"], second["session_id"]) == (True, first["session_id"])
        (finding,) = receipt_json.read(here.runs[0]).verdict.findings
        assert any(finding.what[:60] in str(each) for each in model.requests)
        assert here.task()["status"] == "closed"
        assert in_project(here, "show", "main:calc") == "fixed"
