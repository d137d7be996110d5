"""The docs are true: generated where they can be, compared where they cannot."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from msgspec import structs

from fleet import errors
from fleet.bd.fleet_flags import OWN
from fleet.cli import COMMANDS
from fleet.evidence import claim_rules, landing_rules, scope_rules
from tests.docs import reference
from tests.unit.demo.test_summary import AS_STAGED, text

ROOT = Path(__file__).parents[2]
REFERENCE = (ROOT / "docs/reference.md").read_text(encoding="utf-8")
#: Without what is not fleet's own text; .venv alone has more files than all the rest.
PAGES = [
    page
    for place in (ROOT, *ROOT.iterdir())
    if place.name not in (".git", ".venv")
    for page in (place.glob("*.md") if place == ROOT else place.rglob("*.md"))
    if not {"templates", "node_modules"} & set(page.relative_to(ROOT).parts)
]


def test_the_command_reference_is_what_the_program_says():
    """Run `make docs` after changing a command or a setting."""
    # In a process of its own: click keeps the help option of a command that a test has called.
    words = "from tests.docs.reference import reference; print(reference(), end='')"
    said = subprocess.run(
        [sys.executable, "-c", words], cwd=ROOT, capture_output=True, encoding="utf-8", check=True
    )
    assert reference.FILE.read_text(encoding="utf-8") == said.stdout


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_somewhere(page):
    """A reader who follows a link finds the page."""
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_every_decision_is_listed():
    """The index names each page, once."""
    index = (ROOT / "docs/decisions/README.md").read_text(encoding="utf-8")
    pages = sorted(page.name for page in (ROOT / "docs/decisions").glob("0*.md"))
    assert re.findall(r"\((0\d\d-[^)]+)\)", index) == pages


def test_a_superseded_decision_says_so_at_its_top():
    """A reader who comes by a link learns that the page holds no more, and which page does."""
    folder = ROOT / "docs/decisions"
    index = (folder / "README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| \[\d+\]\((0[^)]+)\) \|[^|]*\| (\d[^|]*) \|$", index, re.MULTILINE)
    assert len(rows) > 3
    for page, successors in rows:
        top = "".join((folder / page).read_text(encoding="utf-8").splitlines()[:7])
        numbers = re.findall(r"\d+", successors)
        assert [number for number in numbers if f"[{number}](0{number}-" not in top] == [], page


def test_the_exit_codes_of_the_reference_are_those_of_the_errors():
    """Scripts rely on the table."""
    section = REFERENCE.partition("## Exit codes")[2]
    listed = {int(code) for code in re.findall(r"^\| (\d+) \|", section, re.MULTILINE)}
    used = {
        value.exit_code
        for value in vars(errors).values()
        if isinstance(value, type) and issubclass(value, errors.FleetError)
    }
    assert used <= listed


def test_the_readme_names_the_way_in():
    """A newcomer starts with one command."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "make demo" in readme
    assert "make test" in readme


def test_the_readme_shows_what_the_demo_says():
    """Each line of the sample is one that the demo prints today, but for ids."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    sample = readme.partition("```\nWhat happened\n")[2].partition("```")[0]
    remedies = [line.strip() for line in sample.splitlines() if "→" in line]
    log = AS_STAGED.log + AS_STAGED.log[:1]
    printed = text(structs.replace(AS_STAGED, log=log))
    assert len(remedies) >= 5
    assert [line for line in remedies if line not in printed] == []


def test_every_command_has_a_line_of_help():
    """The overview says what each command does, in a sentence."""
    assert all(line.endswith(".") for _, line in COMMANDS.values())


def test_the_rules_of_the_reference_are_those_of_the_program():
    """Ids, sentences, and for which tasks they bind."""
    for rule in claim_rules.RULES:
        binds, suspects = ", ".join(rule.expects) or "always", "yes" if rule.suspects else "no"
        assert f"| `{rule.id}` | {rule.sentence} | {binds} | {suspects} |" in REFERENCE
    for rule, (sentence, _) in {**scope_rules.RULES, **landing_rules.LANDING_RULES}.items():
        assert f"| `{rule}` | {sentence} |" in REFERENCE


def test_the_reference_lists_every_event_of_fleets_own():
    """A program that reads events.jsonl finds each kind explained."""
    section = REFERENCE.partition("## Events of fleet's own")[2].partition("\n## ")[0]
    sources = [path.read_text(encoding="utf-8") for path in (ROOT / "src/fleet").rglob("*.py")]
    written = {
        kind for text in sources for kind in re.findall(r"\bnote(?:_line)?\(\s*\"(\w+)\"", text)
    }
    assert "fleet_started" in written
    assert sorted(kind for kind in written if f"`{kind}`" not in section) == []


def test_the_reference_lists_every_check_of_doctor():
    """A person who meets a finding finds what is looked for."""
    section = REFERENCE.partition("## Doctor")[2].partition("\n## ")[0]
    sources = [path.read_text("utf-8") for path in (ROOT / "src/fleet/doctor").rglob("*.py")]
    checks = {name for text in sources for name in re.findall(r"CheckResult\(\"(\w+)\"", text)}
    assert "sandbox" in checks
    first_cells = re.findall(r"^\| ([\w, ]+) \|", section, re.MULTILINE)
    listed = set(re.findall(r"\w+", " ".join(first_cells)))
    assert sorted(checks - listed) == []


def test_the_reference_names_the_flags_of_create_that_are_fleets_own():
    """Each of them, in the section on the tracker."""
    section = REFERENCE.partition("## `fleet bd`")[2].partition("\n## ")[0]
    assert [flag.name for flag in OWN if f"`--{flag.name}`" not in section] == []
