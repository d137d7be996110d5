"""`fleet top` without a terminal: its screen as text, and what a person does in front of it."""

import asyncio
import threading
import time
from contextlib import asynccontextmanager

from fleet.tui.app import TopApp
from tests.builders import NOW

_PATIENCE = 20.0


def silent():
    """A queue that does not answer."""
    threading.Event().wait()


@asynccontextmanager
async def top(now=None, *, size=(80, 24), opened=silent, clock=lambda: NOW, **flags):
    """The app at work on a screen of this size; `now` is what it was told of the home."""
    app = TopApp(opened, clock=clock, **flags)
    async with app.run_test(size=size) as pilot:
        if now is not None:
            app.take_now(now)
        await pilot.pause()
        await pilot.pause()
        yield app, pilot


def screen_of(app):
    """What the terminal shows, line by line."""
    strips = app.screen._compositor.render_strips()
    return "\n".join(strip.text.rstrip() for strip in strips)


async def until(pilot, fact):
    """Wait for a fact about the app."""
    end = time.monotonic() + _PATIENCE
    while not (found := fact()):
        assert time.monotonic() < end, screen_of(pilot.app)
        await pilot.pause(0.02)
    return found


def played(play):
    """Run a test that plays with an app."""

    def test(*args, **fixtures):
        asyncio.run(play(*args, **fixtures))

    test.__name__, test.__doc__ = play.__name__, play.__doc__
    test.__wrapped__ = play  # so that pytest finds its fixtures
    return test
