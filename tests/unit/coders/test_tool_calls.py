"""What an agent did, folded from its events."""

from fleet.coders.stream.tool_calls import ToolCalls
from fleet.schemas import Command, Event, ToolCall, ToolResult


def call(number, name="Bash", **given):
    return Event(kind="tool_use", calls=(ToolCall(id=str(number), name=name, input=given),))


def result(number, text="", *, error=False):
    return Event(
        kind="tool_result", results=(ToolResult(id=str(number), text=text, is_error=error),)
    )


def trail(*events):
    found = ToolCalls()
    for event in events:
        found.add(event)
    return found


def test_commands_are_kept_with_how_they_ended():
    """In order; what failed is marked."""
    found = trail(
        call(1, command="ls"), result(1), call(2, command="make"), result(2, "no rule", error=True),
        call(3, command="sleep 9"),
    )  # fmt: skip
    assert found.ended_commands == (
        Command(text="ls"),
        Command(text="make", failed=True, tail="no rule"),
        Command(text="sleep 9", unended=True),
    )
    assert found.tools == {"Bash": 3}
    assert (found.results, found.failed) == (2, 1)


def test_a_cli_that_tells_of_no_result_leaves_no_command_unended():
    """What is not told is no evidence."""
    assert trail(call(1, command="make")).ended_commands == (Command(text="make"),)


def test_what_was_refused_is_named_with_its_command():
    """By the result of the call, or by the list at the end; once, and as refused, not as failed."""
    refusal = ToolResult(id="1", is_error=True, denied=True, text="This command requires approval")
    listed = ToolCall(id="1", name="Bash", input={"command": "pytest -q"})
    unlisted = ToolCall(id="2", name="Write", input={"file_path": "/etc/passwd"})
    for events in (
        [Event(kind="tool_result", results=(refusal,))],
        [result(1, "no", error=True), Event(kind="session_ended", denied_calls=(listed,))],
    ):
        found = trail(call(1, command="pytest -q"), *events)
        assert list(found.denied.values()) == ["Bash: pytest -q"]
        (command,) = found.ended_commands
        assert (command.ending, command.failed) == ("denied", False)
    found = trail(Event(kind="session_ended", denied_calls=(listed, unlisted)))
    assert list(found.denied.values()) == ["Bash: pytest -q", "Write: /etc/passwd"]


def test_the_same_error_of_the_same_call_is_counted_until_something_else_happens():
    """Another input, another error or a success begins anew."""
    same = [
        event for n in range(3) for event in (call(n, command="x"), result(n, "no", error=True))
    ]
    assert trail(*same).repeated_errors == 3
    assert trail(*same, call(9, command="y"), result(9, "no", error=True)).repeated_errors == 1
    assert trail(*same, call(9, command="x"), result(9, "nope", error=True)).repeated_errors == 1
    assert trail(*same, call(9, command="x"), result(9, "ok")).repeated_errors == 0


def test_a_call_is_open_until_its_result_and_knows_its_own_time_limit():
    """The CLIs count in milliseconds."""
    found = trail(call(1, command="sleep 600", timeout=600_000))
    assert found.open["1"].timeout == 600
    found.add(result(1))
    assert not found.open


def test_a_call_that_is_told_of_twice_counts_once():
    """Some CLIs name the call again when it ends."""
    found = trail(call(1, "edit"), call(1, "edit"), result(1))
    assert found.tools == {"edit": 1}
    assert found.edits.count == 1


def test_what_was_run_behind_the_last_edit_can_be_told():
    """A check before the last edit checks something else."""
    found = trail(call(1, command="pytest"), result(1), call(2, "Write"), result(2))
    assert found.edits.commands_before == 1
    found.add(call(3, command="pytest -q"))
    assert found.edits.commands_before == 1
    found.add(call(4, "Write"))
    assert found.edits.commands_before == 2


def test_notes_and_failed_edits_call_for_no_new_check():
    """An agent writes down how far it is after it has run the tests."""
    tested = (
        call(1, "Write", file_path="/p/a.py"),
        result(1),
        call(2, command="pytest"),
        result(2),
    )
    notes = call(3, "Edit", file_path="/home/t/artifacts/PLAN_AND_STATUS.md")
    assert trail(*tested, notes, result(3)).edits.commands_before == 0
    code = call(3, "Edit", file_path="/p/b.py")
    assert trail(*tested, code, result(3)).edits.commands_before == 1
    failed = trail(*tested, code, result(3, error=True)).edits
    assert (failed.commands_before, failed.count, failed.paths) == (0, 1, ("/p/a.py",))
    codex = call(4, "edit", changes=[{"path": "/p/c.rs", "kind": "update"}])
    assert trail(*tested, codex, result(4)).edits.paths == ("/p/a.py", "/p/c.rs")


def test_a_question_to_a_person_is_seen_while_it_is_open():
    """No person is there to answer the question."""
    assert trail(call(1, "AskUserQuestion")).asks == "AskUserQuestion"
    assert trail(call(1, "AskUserQuestion"), result(1)).asks == ""


def test_an_endless_run_holds_little():
    """Commands and kinds of tools beyond a number are only counted."""
    found = trail(*(call(n, command=f"echo {n}") for n in range(300)))
    assert len(found.commands) == 200
    assert found.more_commands == 100
    assert len(trail(*(call(n, f"tool{n}") for n in range(500))).tools) == 201
