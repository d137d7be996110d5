"""Which versions of bd fleet warns about."""

import pytest

from fleet.errors import QueueUnavailable
from fleet.queue.beads.bd_cli.bd_client import BdClient, read_version, version_warning


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("bd version 1.3.0 (dev)", (1, 3, 0)),
        ('{"version": "1.0.5", "build": "x"}', (1, 0, 5)),
        ("v2.10.3-rc.1", (2, 10, 3)),
        ("beads", None),
    ],
)
def test_a_version_is_found_in_what_bd_prints(text, version):
    """Whatever stands around it."""
    assert read_version(text) == version


@pytest.mark.parametrize("bad", [(1, 0, 3), (0, 58, 0), (1, 0, 4), (1, 0, 5), (1, 1, 0), (1, 2, 1)])
def test_a_known_bad_version_is_warned_of_by_its_number(bad):
    """The warning names the version and says what to take instead."""
    text = version_warning(bad)
    assert text is not None
    assert ".".join(map(str, bad)) in text
    assert "Upgrade" in text


@pytest.mark.parametrize("good", [(1, 1, 2), (1, 2, 2), (1, 3, 0), (1, 3, 2), (2, 0, 0)])
def test_a_sound_version_is_not_warned_of(good):
    """No noise for the others."""
    assert version_warning(good) is None


def test_a_bd_without_a_version_is_warned_of():
    """Not knowing is worth a word."""
    assert version_warning(None) is not None


def test_a_missing_bd_has_no_version(tmp_path):
    """The caller hears that it is not installed."""
    with pytest.raises(QueueUnavailable):
        _ = BdClient(tmp_path, bd=str(tmp_path / "bd")).version
