"""What the pages say of steering is what the program does."""

import re
from pathlib import Path
from typing import get_args

from fleet.control.tasks.in_progress import Doing
from fleet.control.tasks.task_files import WHATS
from fleet.supervisor.assignments import Stage

DOCS = Path(__file__).parents[2] / "docs"


def test_everything_a_task_in_progress_can_do_is_explained():
    """A word in the table of `fleet tasks` can be looked up."""
    page = (DOCS / "reference.md").read_text(encoding="utf-8")
    section = page.partition("| doing | meaning |")[2].partition("\n\n")[0]
    assert set(re.findall(r"^\| (\w+) \|", section, re.MULTILINE)) == set(get_args(Doing))


def test_the_files_of_a_task_are_named():
    """Those that can be asked for, no more and no less."""
    page = (DOCS / "guide.md").read_text(encoding="utf-8")
    assert f"**`fleet task ID {'|'.join(WHATS)}`**" in page


def test_every_stage_of_an_assignment_is_drawn_and_named():
    """The diagram and the glossary have the stages of the table, no more and no less."""
    stages = {stage.__name__ for stage in get_args(Stage)}
    page = (DOCS / "how-it-works.md").read_text(encoding="utf-8")
    diagram = page.partition("An assignment:")[2].partition("```")[2].partition("```")[0]
    assert set(re.findall(r"[A-Z][a-z]+", diagram)) == stages
    row = re.search(
        r"^\| Stage \| (.*?) \|", (DOCS / "glossary.md").read_text("utf-8"), re.MULTILINE
    )
    assert set(re.findall(r"[A-Z][a-z]+", row[1])) == stages
