"""What counts as new in a stream."""

import pytest

from fleet.coders.stream.run_totals import RunTotals
from fleet.schemas import Event, ToolCall, ToolResult


def call(number, text="ls"):
    calls = (ToolCall(id=str(number), name="Bash", input={"command": text}),)
    return Event(kind="tool_use", calls=calls, message_id=f"m{number}")


def result(number, text="a.py"):
    return Event(kind="tool_result", results=(ToolResult(id=str(number), text=text),))


def news_of(*events):
    totals = RunTotals()
    for event in events:
        totals.add(event)
    return totals.tools.news


def test_the_same_call_with_the_same_result_is_no_news():
    """However its id and its message are called."""
    news = news_of(*(each for n in range(5) for each in (call(n), result(n))))
    assert (news.count, news.repeats, news.repeated) == (2, 4, "Bash")


@pytest.mark.parametrize(
    "fresh",
    [call(9, "pwd"), Event(kind="assistant_text", text="Found it."), Event(kind="session_started")],
)
def test_anything_new_starts_the_count_again(fresh):
    """Also a call that was not made before, or words."""
    same = [each for n in range(5) for each in (call(n), result(n))]
    assert news_of(*same, fresh).repeats == 0


def test_a_new_result_of_the_same_call_is_news():
    """An agent that polls learns something, once something has changed."""
    assert news_of(call(1), result(1), call(2), result(2, "a.py b.py")).repeats == 0


def test_calls_by_turns_are_no_news_either():
    """A circle of two is a circle."""
    events = [(call(n, "ls" if n % 2 else "pwd"), result(n, str(n % 2))) for n in range(8)]
    assert news_of(*(each for pair in events for each in pair)).repeats == 6


def test_what_the_cli_says_of_itself_is_neither_new_nor_repeated():
    """A status each second may come from a CLI that waits for its agent below."""
    news = news_of(*[Event(kind="other", text="waiting")] * 90)
    assert (news.count, news.repeats) == (0, 0)


def test_what_is_remembered_has_a_bound():
    """However long a run is."""
    news = news_of(*(Event(kind="assistant_text", text=str(n)) for n in range(5000)))
    assert (news.count, len(news._seen)) == (5000, 2000)
