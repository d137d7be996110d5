"""What is sent when, and what is marked."""

from fleet.control.traces.exporter import TraceExporter, is_exported
from fleet.home import Home
from fleet.runs import receipt_json
from fleet.runs.outcome_history import write_ending
from fleet.runs.run_directory import RunTrace
from fleet.schemas import Closed, Finished, Receipt
from tests.builders import NOW, a_run, an_ending


def over(home, task, *, owner="me", traced=True):
    """A run that is over."""
    trace = RunTrace(task_created=NOW, begun=NOW) if traced else None
    run = a_run(home.task(task), id=f"{owner}.{task}.1", trace=trace)
    receipt_json.write(run, Receipt(task_id=task, run=1, coder="claude"))
    write_ending(run, an_ending(Finished(), Closed(reason="done")))
    return run


class Endpoint:
    """Takes what it is sent, but for the tasks that it refuses."""

    def __init__(self, *refused):
        self.refused, self.taken = set(refused), []

    def __call__(self, rows):
        tasks = [row.attributes["fleet.task"] for row in rows if row.name == "task"]
        if self.refused & set(tasks) or "all" in self.refused:
            return "503"
        self.taken += tasks
        return ""


def exporter(home, endpoint):
    return TraceExporter(home, endpoint, lambda text: None)


def test_each_run_is_sent_once_and_one_that_began_without_otel_never(tmp_path):
    """Also by the next exporter; a record that names another task is passed over."""
    home, endpoint = Home(tmp_path), Endpoint()
    runs = [over(home, f"fleet-{number}") for number in range(3)]
    over(home, "fleet-old", traced=False)
    forged = a_run(home.task("fleet-x"), id="me.fleet-1.7", trace=runs[0].spec().trace)
    receipt_json.write(forged, Receipt(task_id="fleet-1", run=7, coder="claude"))
    write_ending(forged, an_ending(Finished(), Closed(reason="done")))
    first = exporter(home, endpoint)
    assert first.send_all(lambda: NOW)
    later = over(home, "fleet-9")
    assert first.send_all(lambda: NOW)
    assert exporter(home, endpoint).send_all(lambda: NOW)
    assert sorted(endpoint.taken) == ["fleet-0", "fleet-1", "fleet-2", "fleet-9"]
    assert all(map(is_exported, (*runs, later)))


def test_a_run_that_is_always_refused_holds_no_other_back(tmp_path):
    """After a refusal one run goes at a time, and another one each time."""
    home, endpoint = Home(tmp_path), Endpoint("fleet-1")
    for number in range(4):
        over(home, f"fleet-{number}")
    sending = exporter(home, endpoint)
    for _ in range(8):  # the order of directories is none
        assert not sending.send_all(lambda: NOW)
    assert sorted(endpoint.taken) == ["fleet-0", "fleet-2", "fleet-3"]
    endpoint.refused.clear()
    assert sending.send_all(lambda: NOW)
    assert "fleet-1" in endpoint.taken


def test_a_day_without_the_endpoint_loses_nothing(tmp_path):
    """Nothing is given up, however often it was tried."""
    home, endpoint = Home(tmp_path), Endpoint("all")
    runs = [over(home, f"fleet-{number}") for number in range(60)]
    sending = exporter(home, endpoint)
    for _ in range(300):
        assert not sending.send_all(lambda: NOW)
    assert not any(map(is_exported, runs))
    endpoint.refused.clear()
    assert sending.send_all(lambda: NOW)
    assert len(set(endpoint.taken)) == len(endpoint.taken) == 60
