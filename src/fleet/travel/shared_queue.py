"""The part of a queue that hosts share; the queues of one machine have none."""

from pathlib import Path

from fleet.config import KEYS, Config
from fleet.queue.protocol import Queue
from fleet.queue.sql.sql_queue import SqlQueue
from fleet.queue.sql.travel.live_lines import LiveLines
from fleet.queue.sql.travel.run_files import RunFiles

_NONE = "none"


class SharedQueue:
    """A shared queue, as far as tasks travel that way. The caller opened the queue,
    and closes it.
    """

    def __init__(self, queue: Queue, config: Config) -> None:
        assert isinstance(queue, SqlQueue)
        self.queue = queue
        store = None if config.store == _NONE else Path(config.store).expanduser()
        most = KEYS["run_files_limit"].read(config.run_files_limit)
        self.files = RunFiles(queue, store, most=most)
        self.live = LiveLines(queue)
