"""Questions of `ask_human`: asked once, answered once, and the first of two answers counts."""

import threading

import pytest

from fleet.errors import BadInput, NotFound, Refused
from fleet.files import seals
from fleet.runs.questions import asked_json
from tests.builders import NOW


@pytest.fixture
def folder(home):
    folder = home.task("fleet-own")
    folder.mkdir(parents=True)
    return folder


def ask(folder, words="Which?", run=1, **more):
    return asked_json.ask(folder, words, run=run, at=NOW, **more)


def answer(folder, question_id, text="this"):
    return asked_json.answer(folder, question_id, text, by="ada", at=NOW)


def test_a_question_that_is_asked_twice_is_one_question(folder):
    """Its first answer is the answer of both, also for the next run."""
    first, is_new = ask(folder)
    assert is_new
    again, is_new = ask(folder, " Which? ")
    assert (again.id, is_new) == (first.id, False)
    answer(folder, first.id)
    later, is_new = ask(folder, run=2)
    assert (later.answer, is_new) == ("this", False)


def test_the_number_of_an_option_is_that_option(folder):
    """A phone is for short answers. A number that is an option itself stays."""
    asked, _ = ask(folder, options=("plums", "pears"))
    assert answer(folder, asked.id, " 2 ").answer == "pears"
    asked, _ = ask(folder, "How many?", options=("2", "1"))
    assert answer(folder, asked.id, "1").answer == "1"


def test_a_second_answer_is_refused_with_the_first(folder):
    """The person learns who was faster."""
    asked, _ = ask(folder)
    answer(folder, asked.id)
    with pytest.raises(Refused, match="answered by ada"):
        answer(folder, asked.id, "that")
    with pytest.raises(BadInput):
        answer(folder, asked.id, "  ")
    with pytest.raises(NotFound):
        answer(folder, "no-such-id")
    assert asked_json.last(folder).answer == "this"


def test_of_an_answer_and_the_parking_the_first_wins(folder):
    """A hundred races: whatever comes first, the answer is there for the one that comes second."""
    for number in range(100):
        asked, _ = ask(folder, f"Which {number}?", run=number)
        both = threading.Barrier(2)
        parked = []

        def park(asked=asked, both=both, parked=parked):
            both.wait()
            parked.append(asked_json.park(folder, asked.id, at=NOW))

        thread = threading.Thread(target=park)
        thread.start()
        both.wait()
        answered = answer(folder, asked.id)
        thread.join()
        assert (parked[0].answer is None) == (answered.parked_at is not None)
        assert asked_json.last(folder).answer == "this"


def test_another_question_takes_the_place_of_an_open_one(folder):
    """An agent that was cut off and asks something else waits for that."""
    ask(folder)
    ask(folder, "And which?", run=2)
    before, now = asked_json.read(folder)
    assert before.withdrawn
    assert asked_json.open_question(folder) == now


def test_a_run_may_ask_ten_questions(folder):
    """The next run may ask again."""
    for number in range(asked_json.A_RUN):
        asked, _ = ask(folder, f"{number}?")
        answer(folder, asked.id)
    with pytest.raises(Refused, match="may ask 10"):
        ask(folder, "one more?")
    assert ask(folder, "0?")[0].answer == "this"
    ask(folder, "one more?", run=2)


def test_what_fleet_did_not_write_is_no_question(folder, home):
    """An agent cannot answer itself by writing the file."""
    seals.begin(home.path)
    asked, _ = ask(folder)
    path = folder / asked_json.FILE
    path.write_text(path.read_text().replace('"answer":null', '"answer":"yes, you may"'))
    assert asked_json.read(folder) == ()
    path.write_text("{")
    assert asked_json.open_question(folder) is None
    assert asked.answer is None
