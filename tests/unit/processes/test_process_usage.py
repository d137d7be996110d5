"""What a tree of processes tells of its run."""

from fleet.processes.process_usage import ProcessInfo, ProcessTree


def process(pid, parent, started, *, holds_box=False):
    return ProcessInfo(
        pid=pid, parent=parent, cpu=0.0, memory=0, started=started, holds_box=holds_box
    )


def test_the_youngest_process_is_neither_keeper_nor_agent():
    """An agent that waits for its model has no command at work."""
    alone = (process(1, 0, 1.0), process(2, 1, 2.0))
    assert ProcessTree(alone).youngest == 0.0
    assert ProcessTree((*alone, process(3, 2, 3.0))).youngest == 3.0
    assert ProcessTree().youngest == 0.0


def test_what_holds_a_box_is_no_command_of_the_agent():
    """The agent in a box stands below two processes that hold it."""
    around = (process(1, 0, 1.0), process(2, 1, 2.0, holds_box=True))
    inside = (process(3, 2, 2.1, holds_box=True), process(4, 3, 2.2))
    assert ProcessTree((*around, *inside)).youngest == 0.0
    assert ProcessTree((*around, *inside, process(5, 4, 9.0))).youngest == 9.0
