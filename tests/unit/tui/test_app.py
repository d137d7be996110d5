"""The screen of `fleet top` and its keys, without a terminal."""

import json

import pytest

from fleet import control
from fleet.config import default_text
from fleet.control import Control
from fleet.queue.protocol import Draft, Filter
from tests.unit.tui.homes import a_now, a_question, a_row, a_running
from tests.unit.tui.screens import played, screen_of, silent, top, until


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 30)])
@played
async def test_the_screen_reads_well(size, snapshot):
    """Nothing is cut that a person needs, at 80x24 and wider."""
    async with top(a_now(), size=size) as (app, _):
        assert screen_of(app) == snapshot


@played
async def test_keys_move_the_cursor_and_enter_opens_what_it_stands_on():
    """As everywhere: j, k, g, G, Enter and Esc."""
    async with top(a_now()) as (app, pilot):
        assert app.row().id == "fleet-5oz"
        await pilot.press("j", "j")
        assert app.row().id == "fleet-x4f"
        await pilot.press("G")
        assert app.row().id == "fleet-qfi"
        await pilot.press("g", "enter")
        await pilot.pause()
        assert "Now > fleet-5oz > receipt" in screen_of(app)
        await pilot.press("escape")
        assert "NEEDS YOU" in screen_of(app)


@played
async def test_the_cursor_stays_on_its_task_when_rows_move():
    """What a person looks at does not run away."""
    rows = [a_row(id=f"fleet-{number:02}") for number in range(40)]
    async with top(a_now(rows)) as (app, pilot):
        await pilot.press(*"jjj")
        app.take_now(a_now([a_question(), *rows[10:], *rows[:10]]))
        await pilot.pause()
        assert app.row().id == "fleet-03"
        assert "fleet-03" in screen_of(app)


@played
async def test_a_filter_holds_while_it_is_typed_and_esc_takes_it_back():
    """Only rows with all of the words stay."""
    async with top(a_now()) as (app, pilot):
        await pilot.press("slash", *"book", "enter")
        await pilot.pause()
        shown = screen_of(app)
        assert "Add a book" in shown
        assert "Release 1.0" not in shown
        await pilot.press("escape")
        await pilot.pause()
        assert "Release 1.0" in screen_of(app)


@played
async def test_a_queue_that_does_not_answer_hangs_nothing():
    """Keys work, the screen says what is missing, and q ends it at once."""
    async with top(opened=silent) as (app, pilot):
        assert "reading the queue" in screen_of(app)
        app._now_thread.busy_since -= 60
        app.drawing.tick()
        await pilot.pause()
        assert "the queue has not answered for 1m" in screen_of(app)
        await pilot.press("3", "question_mark", "escape", "q")
    assert app.return_code == 0


@played
async def test_without_a_supervisor_the_screen_says_so():
    """Also that agents run on meanwhile."""
    from msgspec import structs

    now = a_now([a_running(run=structs.replace(a_running().run, doing="unsupervised"))])
    dead = structs.replace(now.supervisor, alive=False, pid=None, since=None)
    async with top(a_now(now.rows, supervisor=dead)) as (app, _):
        assert "1 agents run on, no supervisor: fleet run" in screen_of(app)


@played
async def test_read_only_changes_nothing_and_offers_nothing():
    """Neither in the bottom line, nor by a key, nor in the command line."""
    async with top(a_now(), read_only=True) as (app, pilot):
        assert "answer" not in screen_of(app).splitlines()[-1]
        await pilot.press("a", "s", "P", "S", "n", "t", "r")
        await pilot.pause()
        assert "--read-only: this screen changes nothing" in screen_of(app)
        assert len(app.screen_stack) == 1


@played
async def test_enter_in_a_form_sends_nothing():
    """It goes to the next field; only Ctrl-S sends."""
    async with top(a_now()) as (app, pilot):
        await pilot.press("a", "enter", "enter")
        assert len(app.screen_stack) == 2
        await pilot.press("escape")
        assert app.acts.done == []


@played
async def test_a_task_is_made_with_what_was_typed_and_not_before(fleet, tmp_path, monkeypatch):
    """Without a title nothing is sent; Enter goes from field to field."""
    fleet.home.config.write_text(default_text(queue="embedded"))
    env = {"FLEET_HOME": str(fleet.home.path)}
    monkeypatch.chdir(tmp_path)
    async with top(opened=lambda: control.opened(env)) as (app, pilot):
        await pilot.press("n")
        await until(pilot, lambda: len(app.screen_stack) == 2)
        await pilot.press("ctrl+s", *"Mend", "enter", "ctrl+s")
        await until(pilot, lambda: app.acts.done)
        (made,) = fleet.queue.find(Filter())
        assert (made.title, made.cwd) == ("Mend", str(tmp_path))
        assert app.acts.done[0].line.startswith("fleet bd create Mend")


@played
async def test_what_was_typed_and_not_sent_is_kept():
    """Esc looks something up, and the answer is still there."""
    async with top(a_now()) as (app, pilot):
        await pilot.press("a", *"Refuse", "escape", "a")
        await pilot.pause()
        assert "Refuse" in screen_of(app)


@played
async def test_stopping_everything_takes_a_typed_word():
    """No single key does it, and neither does Enter."""
    async with top(a_now()) as (app, pilot):
        await pilot.press("S", "enter", *"yes", "enter")
        assert len(app.screen_stack) == 2
        await pilot.press("escape")
        assert len(app.screen_stack) == 1


HOSTILE = "\x1b]0;owned\x07\x1b[31m[red]x[/] \u202emoc.live\n\rnext"


@played
async def test_text_of_agents_is_shown_and_never_obeyed():
    """Escapes, markup, direction marks and line breaks stand there as text."""
    rows = [
        a_question(id="fleet-\x1b[2J", title=HOSTILE, question=HOSTILE),
        a_running(title=HOSTILE, reason=HOSTILE, coder=HOSTILE),
    ]
    async with top(a_now(rows), size=(300, 24)) as (app, pilot):
        shown = screen_of(app)
        assert "\\x1b]0;owned\\x07\\x1b[31m[red]x[/]" in shown
        assert not {"\x1b", "\x07", "\u202e", "\r"} & set(shown)
        await pilot.press("2", "a")
        await pilot.pause()
        assert not {"\x1b", "\x07", "\u202e", "\r"} & set(screen_of(app))


@played
async def test_an_act_on_a_hostile_id_is_refused_and_told():
    """An id from elsewhere names no file outside the home."""
    async with top(a_now([a_running(id="../../etc/passwd")])) as (app, pilot):
        app.acts._acts._kept = control.KeptHome(control.opened)
        await pilot.press("s")
        await until(pilot, lambda: app.acts.done)
        assert app.acts.done[0].refused


@played
async def test_a_new_question_rings_only_while_the_terminal_is_not_looked_at(monkeypatch):
    """Who looks at it sees it."""
    rung = []
    async with top(a_now([a_running()])) as (app, pilot):
        monkeypatch.setattr(app, "bell", lambda: rung.append(1))
        app.take_now(a_now([a_running(), a_question()]))
        assert rung == []
        app.app_focus = False
        app.take_now(a_now([a_running(), a_question()]))
        assert rung == []
        app.take_now(a_now([a_running(), a_question(), a_question(id="fleet-2")]))
        assert rung == [1]
        await pilot.pause()


@played
async def test_selected_tasks_are_acted_on_together(monkeypatch):
    """The key x selects; s stops all of them."""
    async with top(a_now()) as (app, pilot):
        acts = []
        monkeypatch.setattr(app.acts, "act", lambda verb, given: acts.append((verb, given["id"])))
        await pilot.press("j", "j", "x", "x", "s")
        assert acts == [("stop", "fleet-x4f"), ("stop", "fleet-9kc.2")]
        assert app.marked == set()


@played
async def test_the_mouse_works_too():
    """A click chooses, a second one opens, and the views are buttons."""
    async with top(a_now()) as (app, pilot):
        await pilot.click("#list", offset=(5, 4))
        assert app.row().id == "fleet-x4f"
        await pilot.click("#top", offset=(10, 0))
        await pilot.pause()
        assert app.view == "questions"


@played
async def test_a_screen_that_grows_shows_both_panes_and_one_that_shrinks_only_one():
    """A terminal is resized in mid-work."""
    async with top(a_now()) as (app, pilot):
        await pilot.resize_terminal(160, 40)
        await until(pilot, lambda: "receipt  transcript  diff" in screen_of(app))
        await pilot.resize_terminal(40, 10)
        await until(pilot, lambda: "receipt  transcript  diff" not in screen_of(app))
        assert "NEEDS YOU" in screen_of(app)


@played
async def test_a_transcript_is_searched_by_keys(fleet):
    """The slash searches where the transcript is looked at, and filters where the list is."""
    fleet.home.config.write_text(default_text(queue="embedded"))
    task = fleet.queue.add(Draft(title="Talk"))
    folder = fleet.home.task(task.id)
    folder.mkdir(parents=True, exist_ok=True)
    said = [{"run": 1, "kind": "assistant_text", "text": f"step {n}"} for n in range(900)]
    (folder / "events.jsonl").write_text("".join(json.dumps(each) + "\n" for each in said))
    rows = [a_running(id=task.id)]
    reopen = lambda: Control(fleet.home, fleet.config)  # noqa: E731
    async with top(a_now(rows), opened=reopen, size=(100, 30)) as (app, pilot):
        await pilot.press("l")
        await until(pilot, lambda: "step 899" in app.lines("detail").text())
        await until(pilot, lambda: app.lines("detail").has_focus)
        await pilot.press("slash", *"step 42", "enter")
        await until(pilot, lambda: "hit 11 of 11" in app.lines("said").text())
        await pilot.press("n")
        await until(pilot, lambda: "hit 1 of 11" in app.lines("said").text())
        await until(pilot, lambda: "step 42\n" in app.lines("detail").text() + "\n")
        assert app.lines("detail").cursor_key == f"{app.detail.transcript.search.hits[0]}.0/0"
        assert "next hit" in screen_of(app)
        await pilot.press("escape", "slash", *"nothing")
        await until(pilot, lambda: app.wanted == "nothing")
