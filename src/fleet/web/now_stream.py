"""One reader of *now* for all clients: each change is read once, encoded once, and sent to all.

The reader is a thread that lives only while a client looks. What clients get is lines of JSON: a
snapshot, then changes. A client that is too slow, or asks for changes that are not kept, begins
anew.
"""

import asyncio
import threading
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import msgspec

from fleet.control import Control
from fleet.control.view.live_now import LiveNow, NowChange
from fleet.control.view.now import Now
from fleet.errors import FleetError

#: Seconds: changes are gathered this long; a line comes at least this often; and a session that
#: was revoked is noticed within the last.
GATHERED, BEAT, CHECKED = 0.25, 15.0, 2.0
#: Changes that are kept for clients that come back, and lines that a client may be behind.
_KEPT, _BEHIND = 256, 64
_MOST_CLIENTS = 100
#: Seconds that the reader goes on after the last client has left.
_LINGERS = 5.0
#: Seconds that a read may take before clients are told that it takes long.
SLOW = 4.0


class NowStream:
    """The stream of one server."""

    def __init__(self, reopen: Callable[[], Control]) -> None:
        self._reopen = reopen
        self._loop: asyncio.AbstractEventLoop | None = None
        self._clients: set[asyncio.Queue[bytes | None]] = set()
        self._thread: threading.Thread | None = None
        self._left_at = 0.0
        self._changes: deque[tuple[int, int, bytes]] = deque(maxlen=_KEPT)
        self._now: Now | None = None
        self._fresh = asyncio.Event()
        self._trouble = ""
        #: When the read began that goes on, on the monotonic clock; None: none does.
        self._reads_since: float | None = None
        self.over = False

    async def current(self) -> Now:
        """The home now: from the reader, or read for this call if no client looks."""
        if self._clients and self._now is not None:
            return self._now
        return await asyncio.to_thread(self._read_once)

    def _read_once(self) -> Now:
        live = LiveNow(self._reopen)
        try:
            return live.begin()
        finally:
            live.close()

    async def lines(self, since: int, in_force: Callable[[], bool]) -> AsyncIterator[bytes]:
        """The lines for one client, until the session is revoked or the server stops."""
        if len(self._clients) >= _MOST_CLIENTS:
            raise FleetError(f"{_MOST_CLIENTS} pages are open", hint="Close some of them.")
        mine: asyncio.Queue[bytes | None] = asyncio.Queue(_BEHIND)
        self._begin(mine)
        try:
            async for line in self._first(mine, since, in_force):
                yield line
            async for line in self._rest(mine, in_force):
                yield line
        finally:
            self._clients.discard(mine)
            self._left_at = time.monotonic()

    def _begin(self, client: asyncio.Queue[bytes | None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._clients.add(client)
        self._start_reader()

    def _start_reader(self) -> None:
        if self._thread is None or not self._thread.is_alive():
            self._fresh.clear()
            self._changes.clear()
            self._thread = threading.Thread(target=self._read, name="now", daemon=True)
            self._thread.start()

    async def _first(
        self, mine: asyncio.Queue[bytes | None], since: int, in_force: Callable[[], bool]
    ) -> AsyncIterator[bytes]:
        """What the client has missed, or the whole."""
        while not self._fresh.is_set():
            self._start_reader()
            try:
                await asyncio.wait_for(self._fresh.wait(), CHECKED)
            except TimeoutError:
                if not in_force():
                    return
                yield self._beat()  # the queue does not answer: the client sees that we live
        while not mine.empty():  # the change is in what comes first
            mine.get_nowait()
        missed = [data for _, after, data in self._changes if after >= since]
        known = bool(self._changes) and self._changes[0][1] <= since
        if since and self._now is not None and (self._now.seq == since or known):
            yield b"".join(missed) or self._beat()
            return
        yield _line({"type": "snapshot", "now": self._now})

    async def _rest(
        self, mine: asyncio.Queue[bytes | None], in_force: Callable[[], bool]
    ) -> AsyncIterator[bytes]:
        last, slow = time.monotonic(), False
        while not self.over:
            if not in_force():
                yield _line({"type": "over", "why": "this session was ended"})
                return
            try:
                data = await asyncio.wait_for(mine.get(), CHECKED)
            except TimeoutError:
                was_slow, slow = slow, bool(self._slow_read())
                if slow or was_slow or time.monotonic() - last >= BEAT:
                    last = time.monotonic()
                    yield self._beat()
                continue
            if data is None:
                yield _line({"type": "resync"})
                return
            last = time.monotonic()
            yield data
        yield _line({"type": "over", "why": "the page's server stops"})

    def _beat(self) -> bytes:
        now = self._now
        return _line(
            {
                "type": "beat",
                "seq": now.seq if now else 0,
                "as_of": now.as_of if now else None,
                "trouble": self._trouble or self._slow_read(),
            }
        )

    def _slow_read(self) -> str:
        """The words for a read of the home that takes long; empty: no such read."""
        since = self._reads_since
        took = time.monotonic() - since if since is not None else 0.0
        return f"the queue has not answered for {took:.0f} s" if took > SLOW else ""

    def _read(self) -> None:
        """The reader's thread: until no client has looked for a while."""
        try:
            live = LiveNow(self._reopen)
        except (FleetError, OSError) as error:
            self._trouble = str(error)  # the next client, or the next beat, tries again
            return
        try:
            with self._reading():
                now = live.begin()
            self._tell(now, None)
            sent = time.monotonic()
            while self._is_wanted():
                changed = self._gather(live, sent)
                with self._reading():
                    change = live.update(changed)
                sent = time.monotonic()
                if live.now is not None:
                    self._tell(live.now, change)
        except (FleetError, OSError) as error:  # the home is gone, or the disk fails
            self._trouble = str(error)
            self._forget()
        finally:
            live.close()

    @contextmanager
    def _reading(self) -> Generator[None]:
        self._reads_since = time.monotonic()
        try:
            yield
        finally:
            self._reads_since = None

    def _forget(self) -> None:
        """Nothing is known any more: clients are told so, and begin anew."""
        assert self._loop is not None
        with suppress(RuntimeError):  # the server has ended
            self._loop.call_soon_threadsafe(self._drop_clients)

    def _drop_clients(self) -> None:
        self._fresh.clear()
        for client in tuple(self._clients):
            _cut_off(client)

    def _gather(self, live: LiveNow, sent: float) -> set[Path]:
        """The directories that changed: waits for the first change, then a little for more."""
        changed = live.wait(CHECKED)
        while changed and (left := sent + GATHERED - time.monotonic()) > 0:
            time.sleep(left)
            changed |= live.wait(0)
        return changed

    def _is_wanted(self) -> bool:
        if self.over:
            return False
        return bool(self._clients) or time.monotonic() - self._left_at < _LINGERS

    def _tell(self, now: Now, change: NowChange | None) -> None:
        """Hand a value over to the clients' loop."""
        assert self._loop is not None
        data = b""
        if change is not None:
            fields = {name: getattr(change, name) for name in change.__struct_fields__}
            data = _line({"type": "delta", **fields})
        ends = (change.seq, change.after) if change is not None else (now.seq, now.seq)
        with suppress(RuntimeError):  # the server has ended, and its loop with it
            self._loop.call_soon_threadsafe(self._publish, now, ends, data)

    def _publish(self, now: Now, ends: tuple[int, int], data: bytes) -> None:
        self._now = now
        self._trouble = ""
        self._fresh.set()
        if not data:
            return
        self._changes.append((*ends, data))
        for client in tuple(self._clients):
            if client.full():  # too slow: it begins anew
                self._clients.discard(client)
                _cut_off(client)
            else:
                client.put_nowait(data)


def _line(value: Any) -> bytes:
    return msgspec.json.encode(value) + b"\n"


def _cut_off(client: asyncio.Queue[bytes | None]) -> None:
    while not client.empty():
        client.get_nowait()
    client.put_nowait(None)
