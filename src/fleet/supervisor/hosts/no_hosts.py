"""Stands for the heartbeat of a supervisor whose queue is not shared."""

from datetime import UTC, datetime

from fleet.queue.protocol import Queue


class NoHosts:
    """There is no other host: nothing to offer, to tell or to wait for."""

    is_shared = False
    name = ""
    may_claim = True
    is_draining = False
    misses_code = False

    def start(self) -> None:
        """No beat."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def offer_now(self, usual_coder: str) -> None:
        """No offer: this machine runs every task, or says what it lacks."""

    def knows(self, queue: Queue) -> bool:  # noqa: ARG002
        return True

    def lacks(self, coder: str) -> bool:  # noqa: ARG002
        return False

    def leave_to_others(self, url: str) -> bool:  # noqa: ARG002
        return False

    def server_went_back(self) -> bool:
        return False

    def look(self) -> None:
        pass

    def close(self, patience: float) -> None:
        pass
