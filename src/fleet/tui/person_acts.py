"""What the person does: each act goes through `control`'s table of acts on a separate thread, and
leaves the act's command line in the command log.
"""

import os
import shlex
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fleet.control import Control
from fleet.control.acts.act_table import ActEnd, carry_out, command_line
from fleet.control.acts.each_act import CommentOnLine
from fleet.schemas.shown_text import counted
from fleet.tui.forms import WORD, NewTaskForm, Palette, PaletteEntry, TextForm, WordForm
from fleet.tui.home_threads import HomeThread, Unread
from fleet.tui.key_table import keys_here
from fleet.tui.spans import SpanLine, paragraph, said
from fleet.tui.views.log_lines import DoneAct

if TYPE_CHECKING:
    from fleet.tui.app import TopApp

#: How many acts are remembered.
_KEPT = 200


class PersonActs:
    """The acts of one person at one screen."""

    def __init__(self, app: "TopApp", acts: HomeThread) -> None:
        self._app = app
        self._acts = acts
        self._number = 0
        #: Texts that were typed and not sent, by verb and tasks.
        self._drafts: dict[tuple[str, ...], str] = {}
        self.done: list[DoneAct] = []

    def act(self, verb: str, given: Mapping[str, Any]) -> None:
        """Have an act carried out; the person is told at once, and again when the act is done or
        refused.
        """
        if self._refused():
            return
        line = command_line(verb, dict(given))
        self._app.drawing.say(((f"$ {said(line)}", "cyan"), (" …", "dim")))
        self._number += 1  # acts never replace each other

        def tell(end: ActEnd | Unread) -> None:
            self._show_end(end, line)

        def do(fleet: Control) -> ActEnd:
            return carry_out(fleet, verb, dict(given), surface="top")

        self._acts.submit(f"act {self._number}", do, tell)

    def each(self, verb: str) -> None:
        """Do something with every chosen task."""
        for row in self._app.chosen():
            self.act(verb, {"id": row.id})
        self._app.marked.clear()

    def answer(self) -> None:
        row = self._app.row()
        if row is None or not row.question:
            self._app.drawing.say((("nothing is asked here", "dim"),))
            return
        about = [*paragraph(row.question, 90, "magenta")]
        self._write("answer", [row.id], f"Answer {said(row.id)}: {said(row.title)}", about)

    def tell(self) -> None:
        rows = self._app.chosen()
        ids = [row.id for row in rows]
        if len(rows) == 1:
            title = f"Tell the agent of {said(ids[0])}: {said(rows[0].title)}"
            self._write("tell", ids, title, [])
        elif rows:
            about: list[SpanLine] = [((said(", ".join(ids)), "dim"),)]
            self._write("tell", ids, f"Tell the agents of {len(ids)} tasks", about)

    def comment(self) -> None:
        """Remark on the line of the diff under the cursor; R sends all remarks."""
        app = self._app
        diff = app.detail.diff
        place = diff.place(app.lines("detail").cursor_key) if app.detail.tab == "diff" else None
        if self._refused():
            return
        if place is None:
            app.drawing.say((("a comment belongs to a line that is there after the work", "dim"),))
            return
        path, line = place

        def take(answer: tuple[bool, str] | None) -> None:
            if answer is not None and answer[0]:
                diff.comments.append(CommentOnLine(path=path, line=line, text=answer[1]))
                number = len(diff.comments)
                app.drawing.say(
                    ((f"{number} comments are kept; R sends them back with the work", "dim"),)
                )

        app.push_screen(TextForm(f"Comment on {said(path)}:{line}", []), take)

    def send_back(self) -> None:
        """Send the work back, with the comments on the diff."""
        row = self._app.row()
        if row is None or self._refused():
            return
        diff = self._app.detail.diff
        comments = diff.comments if diff.task_id == row.id else []
        about: list[SpanLine] = [
            ((f"{said(each.path)}:{each.line}  ", "dim"), (said(each.text), ""))
            for each in comments
        ]

        def take(answer: tuple[bool, str] | None) -> None:
            if answer is not None and answer[0]:
                given = {"id": row.id, "text": answer[1], "comments": tuple(comments)}
                self.act("reject", given)
                diff.comments = []

        title = f"Send the work of {said(row.id)} back: what is to be done?"
        self._app.push_screen(TextForm(title, about), take)

    def way_on(self) -> None:
        """Do what would set the task going, if fleet top can; else tell the command line."""
        row = self._app.row()
        if row is None or row.way_on is None:
            return
        match row.way_on.verb:
            case "answer":
                self.answer()
            case "reject":
                self.send_back()
            case "resume" | "pause":
                self.act(row.way_on.verb, {})
            case "" | "pick":
                self._app.copy_to_clipboard(row.way_on.line)
                self._app.drawing.say(((f"copied: {said(row.way_on.line)}", "dim"),))
            case verb:
                self.act(verb, {"id": row.id})

    def pause(self) -> None:
        now = self._app.now
        paused = now is not None and now.supervisor.paused_since is not None
        self.act("resume" if paused else "pause", {})

    def stop_all(self) -> None:
        if self._refused():
            return
        runs = sum(row.run is not None for row in self._app.now.rows) if self._app.now else 0

        def take(typed: bool | None) -> None:
            if typed:
                self.act("stop_all", {"confirm": WORD})

        self._app.push_screen(
            WordForm(f"This ends {counted(runs, 'run')}, and pauses fleet."), take
        )

    def new(self) -> None:
        if self._refused():
            return
        rows = self._app.now.rows if self._app.now else ()
        row = self._app.row()
        first = [row.project] if row is not None and row.project else []
        projects = [*first, *(each.project for each in rows if each.project), str(Path.cwd())]

        def take(given: Mapping[str, object] | None) -> None:
            if given is not None:
                self.act("create", given)

        def show(coders: tuple[str, ...] | Unread) -> None:
            names = () if isinstance(coders, Unread) else coders
            self._app.push_screen(NewTaskForm(list(dict.fromkeys(projects)), names), take)

        self._app.ask("coders", lambda fleet: fleet.coder_names(), show)

    def open_directory(self) -> None:
        """The task's directory in the person's editor, if one is named; the path otherwise."""
        row = self._app.row()
        place = (row.directory or row.project) if row is not None else ""
        editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or ""
        if not place:
            return
        if not editor or not Path(place).is_dir():
            self._app.copy_to_clipboard(place)
            self._app.drawing.say(((f"copied: {said(place)}", "dim"),))
            return
        with self._app.suspend():
            subprocess.run([*shlex.split(editor), place], check=False)
        self._app.refresh()

    def command(self) -> None:
        """Every verb that works here, by a few letters."""

        def take(entry: PaletteEntry | None) -> None:
            if entry is not None:
                self._app.call_later(entry.do, self._app)

        self._app.push_screen(Palette(self._entries()), take)

    def _entries(self) -> Sequence[PaletteEntry]:
        row = self._app.row()
        task = said(row.id) if row is not None else "ID"
        lines = {
            "answer": f'fleet answer {task} "…"', "tell": f'fleet tell {task} "…"',
            "stop": f"fleet stop {task}", "retry": f"fleet retry {task}",
            "new": 'fleet bd create "…"', "stop all": "fleet stop --all",
            "receipt": f"fleet task {task} receipt", "pause": "fleet pause, fleet resume",
            "transcript": f"fleet task {task} events --follow",
            "diff": f"fleet task {task} diff", "plan": f"fleet task {task} plan",
            "send back": f'fleet review {task} --reject "…"',
            "way on": row.way_on.line if row is not None and row.way_on else "",
        }  # fmt: skip
        here = keys_here(self._app.drawing.here(), read_only=self._app.read_only)
        return [
            PaletteEntry(key.words, lines.get(key.words, ""), key.do) for key in here if key.words
        ]

    def _write(self, verb: str, ids: Sequence[str], title: str, about: Sequence[SpanLine]) -> None:
        """Have a text written and sent, for each of the tasks; what is not sent is kept."""
        if self._refused():
            return
        at = (verb, *ids)

        def take(answer: tuple[bool, str] | None) -> None:
            if answer is None:
                return
            self._drafts.pop(at, None)
            if answer[0]:
                for task_id in ids:
                    self.act(verb, {"id": task_id, "text": answer[1]})
                self._app.marked.difference_update(ids)
            elif answer[1].strip():
                self._drafts[at] = answer[1]
                self._app.drawing.say((("kept as a draft", "dim"),))

        self._app.push_screen(TextForm(title, about, self._drafts.get(at, "")), take)

    def _show_end(self, end: ActEnd | Unread, asked: str) -> None:
        if isinstance(end, Unread):
            line, words = asked, f"{end.message} {end.hint}".strip()
            shown = (f"  refused: {said(words)}", "bold red")
            self._app.bell()
        else:
            line, words = end.line, end.words
            shown = (f"  {said(words)}", "green")
        deed = DoneAct(self._app.clock(), line, words, refused=isinstance(end, Unread))
        self.done = [*self.done, deed][-_KEPT:]
        self._app.drawing.say(((f"$ {said(line)}", "cyan"), shown))
        self._app.look()
        if self._app.view == "log":
            self._app.drawing.draw()

    def _refused(self) -> bool:
        if self._app.read_only:
            self._app.drawing.say((("--read-only: this screen changes nothing", "bold red"),))
        return self._app.read_only
