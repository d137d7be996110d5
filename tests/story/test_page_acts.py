"""Every act of the page, in a real browser: what a person does there is what fleet then holds.

Answers, comments on lines and refused acts are in `test_page.py`.
"""

import re

import pytest

from fleet.control.pause import paused_since
from fleet.home import compare_json, landing_json, messages, task_json
from fleet.queue.protocol import Draft
from fleet.runs.outcome_history import read_ending
from fleet.runs.run_directory import latest_run
from fleet.schemas import Settings, Stopped
from tests.conftest import only_slow
from tests.story.page_fixtures import (
    all_problems,
    browser,
    context,
    expect,
    page,
    problems,
    row,
    stage,
)
from tests.story.page_stage import PHONE
from tests.story.test_compare import coder

__all__ = ["all_problems", "browser", "context", "page", "problems", "stage"]

pytestmark = pytest.mark.timeout(240)
VERIFY = ("grep -n TWO a",)


def open_task(stage, page, task_id):
    page.goto(f"{stage.address}#/task/{task_id}/receipt")
    expect(page.locator(".task-head .crumbs")).to_contain_text(task_id)


def act(page, name):
    """The button of an act on the page of a task."""
    return page.locator(".task-head .acts").get_by_role("button", name=name)


def by_palette(page, words):
    """Do what the palette finds by a few words."""
    page.keyboard.press("Control+k")
    page.get_by_role("combobox").fill(words)
    expect(page.get_by_role("option").first).to_contain_text(words, ignore_case=True)
    page.keyboard.press("Enter")


def type_word(page, word):
    """Confirm what cannot be undone."""
    page.get_by_role("dialog").get_by_role("textbox").fill(word)
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_work_is_held_released_landed_and_taken_back(stage, page):
    """landing.json says each state, and the branch has the work, and then has it no more."""
    scene = stage.scene
    task_id = scene.add("", coder="neat", title="Land me", verify=VERIFY)

    def until(state):
        scene.until(
            lambda: (found := landing_json.read(scene.home, task_id)) and found.state == state
        )

    until("asks")
    open_task(stage, page, task_id)
    act(page, "Hold").click()
    until("held")
    act(page, "Release").click()
    until("asks")
    act(page, "Land").click()
    taken_back = f"fleet land --revert {task_id.removeprefix('fleet-')}"
    expect(page.locator("#told")).to_contain_text(taken_back)
    scene.until_status(task_id, "closed")
    assert "TWO" in stage.repo.git("show", "HEAD:a")
    expect(page.locator(".task-head .badge").first).to_contain_text("landed")
    by_palette(page, "take back")
    type_word(page, "revert")
    scene.until(lambda: landing_json.read(scene.home, task_id).landed.reverted)
    assert "TWO" not in stage.repo.git("show", "HEAD:a")
    page.keyboard.press("?")
    for line in ("--hold", "--release", "--revert"):
        done = f"fleet land {line} {task_id}"
        expect(page.locator(".command-log")).to_contain_text(done)


def test_an_agent_is_told_something_stopped_and_set_going_again(stage, page):
    """The message waits for the agent, the run ends as stopped, and the next one reads both."""
    scene = stage.scene
    script = "tool:1 mark:begun await:never end"
    task_id = scene.add(script, title="Steer me", work_in="directory")
    scene.until_marked(task_id, "begun")
    page.goto(stage.view("now"))
    row(page, task_id).locator("[data-open]").focus()
    page.keyboard.press("t")
    page.get_by_role("dialog").get_by_role("textbox").fill("Use the second name.")
    page.keyboard.press("Control+Enter")
    folder = scene.folder(task_id)
    told = scene.until(lambda: messages.read(folder))
    assert [each.message.text for each in told] == ["Use the second name."]
    row(page, task_id).locator("[data-open]").focus()
    page.keyboard.press("s")
    scene.until_status(task_id, "blocked")
    assert isinstance(read_ending(scene.run(task_id)).outcome, Stopped)
    needs = page.locator("section.group.needs_you")
    expect(needs.locator(f'[data-row="{task_id}"]')).to_be_visible()
    row(page, task_id).get_by_role("button", name="Retry").click()
    scene.until_marked(task_id, "begun", 2)
    prompt = latest_run(folder).path / "prompt.md"
    assert "Use the second name." in prompt.read_text()
    expect(page.locator("section.group.running").locator(f'[data-row="{task_id}"]')).to_be_visible()
    scene.fleet("stop", task_id, "--now")


def test_what_became_of_several_tasks_is_told_in_whole_sentences(stage, page):
    """Fleet says one of each, and a screen reader reads them one after the other."""
    scene = stage.scene
    script = "tool:1 mark:begun await:never end"
    ids = [scene.add(script, title=f"Stop me {each}", work_in="directory") for each in "ab"]
    for each in ids:
        scene.until_marked(each, "begun")
    page.goto(stage.view("now"))
    for each in ids:
        row(page, each).locator("[data-open]").focus()
        page.keyboard.press("x")
    page.keyboard.press("s")
    for each in ids:
        scene.until_status(each, "blocked")
    first, second = (f"Stopped {each}: .*[.]" for each in ids)
    expect(page.locator("#told")).to_have_text(re.compile(f"^{first} {second}$"))


def test_a_task_is_made_from_the_page_with_all_that_it_takes(stage, page, problems):
    """Its fields are in the queue, its settings in task.json; what is wrong is told in place."""
    scene = stage.scene
    page.keyboard.press("n")
    field = page.get_by_label
    field("Title").fill("Made on the page")
    project = page.get_by_role("combobox", name="Project the directory")
    project.fill("/nowhere/at/all")
    field("What should be done").fill("Say it\nin two lines.")
    field("Priority").select_option("4")
    field("Labels, with commas").fill("ui, login")
    page.get_by_text("Proof: how fleet checks").click()
    field("Verify commands, one a line").fill("make a\nmake b")
    page.get_by_text("Order: what it waits for").click()
    field("Waits for").fill(stage.ids["runs"])
    field("Model").fill("some-model")
    page.get_by_role("button", name="Create").click()
    expect(page.locator(".wrong")).to_contain_text("“Model” was given without “Coder”")
    field("Model").fill("")
    page.get_by_role("button", name="Create").click()
    expect(page.locator(".wrong")).to_contain_text("/nowhere/at/all")
    project.fill(str(scene.project))
    page.get_by_role("button", name="Create").click()
    expect(page.locator(".task-head h1")).to_contain_text("Made on the page")
    (made,) = [task for task in scene.open_tasks() if task.title == "Made on the page"]
    assert (made.description, made.priority) == ("Say it\nin two lines.", 4)
    assert sorted(made.labels) == ["login", "ui"]
    assert task_json.read(scene.home, made.id).verify == ("make a", "make b")
    assert [task.id for task in scene.queue.blockers(made.id)] == [stage.ids["runs"]]
    expect(page.locator(".task-head .reason")).to_contain_text("waits for Find a book")
    problems[:] = [each for each in problems if "status of 400" not in each]


@only_slow
def test_a_run_that_claimed_nothing_has_no_tick_and_a_break_in_a_title_is_a_mark(stage, page):
    """Green is for a claim that holds; a title of two lines could pass for two tasks."""
    task_id = stage.scene.add("tool end", title="Leave\nit open", work_in="directory")
    stage.scene.until_status(task_id, "blocked")
    expect(row(page, task_id).locator(".title .control-mark")).to_have_text("U+000A")
    page.goto(f"{stage.address}#/task/{task_id}/runs")
    ended = page.locator("table.runs tbody tr").first.locator(".badge")
    expect(ended).to_have_text("finished")
    expect(ended.locator("svg.mark.calm")).to_have_count(1)


@only_slow
def test_a_row_that_waits_for_a_task_leads_to_it(stage, page):
    """The way on of what waits is at the task that it waits for."""
    first = stage.ids["runs"]
    waits = row(page, stage.ids["waits"])
    waits.hover()
    waits.get_by_role("button", name="Open").click()
    expect(page.locator(".task-head .crumbs")).to_contain_text(first)
    open_task(stage, page, stage.ids["waits"])
    page.locator(".task-head .reason").get_by_role("link", name="Open").click()
    expect(page.locator(".task-head .crumbs")).to_contain_text(first)


def test_entries_stand_side_by_side_and_one_is_picked(stage, page):
    """Verdict, check, cost and change of each; the picked one lands, and the rest is away."""
    scene = stage.scene
    coder(scene, "lazy", "sed -i 2d a", claim="surely done")
    # A person's name on it keeps the supervisor from claiming it before it is compared.
    task_id = scene.queue.add(Draft(title="Compare me", assignee="ada")).id
    task_json.write(scene.home, task_id, Settings(cwd=str(scene.project), verify=VERIFY))
    wanted = ("--with", "neat", "--with", "lazy", "--no-wait")
    assert scene.fleet("compare", task_id, *wanted).returncode == 0
    compared = compare_json.read(scene.home, task_id)
    neat, lazy = (
        next(entry.task_id for entry in compared.entries if entry.coder == name)
        for name in ("neat", "lazy")
    )
    scene.until_status(neat, "closed", "blocked")
    scene.until_status(lazy, "blocked")
    page.goto(stage.view("now"))
    row(page, task_id).get_by_role("button", name="Compare").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Compare me")
    table = page.locator("table.compared")
    expect(table.get_by_role("columnheader")).to_have_count(2)
    verdicts = table.get_by_role("row", name="Verdict")
    expect(verdicts).to_contain_text("checked")
    expect(verdicts).to_contain_text("rejected")
    expect(table.get_by_role("row", name="Checks")).to_contain_text("failed, exit 1")
    expect(table.get_by_role("row", name="Changes")).to_contain_text("3 files")
    sides = page.get_by_role("article", name="a", exact=True).locator(".beside-one")
    expect(sides.nth(0).locator(".l.del")).to_have_text("two")
    expect(sides.nth(1).locator(".l.add")).to_have_text("TWO")
    expect(page.get_by_role("article", name="c", exact=True)).to_contain_text("not changed")
    page.set_viewport_size(PHONE)
    assert page.evaluate("document.getElementById('main').scrollWidth") <= PHONE["width"]
    table.locator(f'[data-entry="{lazy}"]').get_by_role("button", name="Pick …").click()
    expect(page.get_by_role("dialog")).to_contain_text("did not accept its claim")
    page.keyboard.press("Escape")
    table.locator(f'[data-entry="{neat}"]').get_by_role("button", name="Pick").click()
    expect(page.get_by_role("dialog")).to_contain_text("the others are put away")
    assert compare_json.read(scene.home, task_id).picked == ""
    type_word(page, "pick")
    scene.until_status(task_id, "closed")
    expect(page.get_by_role("status").filter(has_text="was picked")).to_contain_text("neat")
    assert "TWO" in stage.repo.git("show", "HEAD:a")
    assert scene.status(lazy) == "closed"
    assert compare_json.read(scene.home, task_id).picked == neat
    stage.repo.git("reset", "-q", "--hard", "HEAD~1")


def test_fleet_is_paused_goes_on_and_is_stopped_whole(stage, page):
    """The pause is in the home, and of all runs none is left after the last word."""
    scene = stage.scene
    page.keyboard.press("P")
    scene.until(lambda: paused_since(scene.home))
    expect(page.locator(".standing")).to_contain_text("Paused")
    page.locator(".standing").get_by_role("button", name="Resume").click()
    scene.until(lambda: paused_since(scene.home) is None)
    expect(page.locator(".standing")).to_contain_text("Supervisor runs")
    page.keyboard.press("S")
    expect(page.get_by_role("dialog")).to_contain_text("Every agent is ended at once")
    type_word(page, "stop")
    scene.until_status(stage.ids["runs"], "blocked", "open")
    assert isinstance(read_ending(scene.run(stage.ids["runs"])).outcome, Stopped)
    assert paused_since(scene.home) is not None
    expect(page.locator("section.group.running")).to_have_count(0)
