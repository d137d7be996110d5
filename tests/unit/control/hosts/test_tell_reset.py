"""What other hosts hear when a person gives a key work again."""

import platform
from types import SimpleNamespace

import msgspec

from fleet.config import Config
from fleet.control.hosts import tell_reset
from fleet.home import owner_file


def test_a_host_is_named_as_people_call_it(home, monkeypatch):
    """A log elsewhere that says `host auto` leads a person to no machine."""
    owner_file.read_or_make(home)
    monkeypatch.setattr(platform, "node", lambda: "den haag")
    told = []
    monkeypatch.setattr(tell_reset, "_mark", lambda *_: "mark")
    monkeypatch.setattr(tell_reset, "share_news", lambda _, news: told.extend(news))
    for name in ("auto", "attic"):
        config = Config(queue="postgresql://db/queue", host_name=name)
        fleet = SimpleNamespace(home=home, config=config, is_shared=True, tracker=None)
        tell_reset.tell_reset(fleet, ["claude"])
    named = [msgspec.json.decode(news.value)["by"] for news in told]
    assert named == ["den-haag", "attic"]
