"""When a login is renewed, and which of two is the newer one."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleet.coders.claude import ClaudeCoder
from fleet.coders.login import RENEWED_WITHIN, Login
from tests.builders import HOUR, NOW


def a_login(access="at-1", ends=NOW, owner=""):
    return Login(boxed=b"{}", access=access, ends=ends, owner=owner)


@pytest.mark.parametrize(
    ("ends", "due"),
    [
        (NOW - HOUR, True),
        (NOW + RENEWED_WITHIN, True),
        (NOW + RENEWED_WITHIN + timedelta(seconds=1), False),
        (None, False),
    ],
)
def test_a_login_is_due_in_its_last_minutes(ends, due):
    """Earlier no CLI renews it; one that tells no end is left alone."""
    assert a_login(ends=ends).is_due(NOW) is due
    assert timedelta(minutes=4) < RENEWED_WITHIN < timedelta(minutes=5)


@pytest.mark.parametrize(
    ("new", "newer"),
    [
        (a_login("at-2", NOW + HOUR), True),
        (a_login("at-1", NOW + HOUR), False),
        (a_login("at-2", NOW), False),
        (a_login("at-2", NOW - HOUR), False),
        (a_login("at-2", None), True),
        (a_login("at-2", NOW + HOUR, "me"), True),
        (a_login("at-2", NOW + HOUR, "you"), False),
    ],
)
def test_another_token_of_the_same_account_that_ends_later_is_newer(new, newer):
    """A box never gets an older token, nor one of another account."""
    assert new.supersedes(a_login(owner="me")) is newer


ENDS = st.sampled_from([None, NOW, NOW + HOUR])
LOGINS = st.builds(a_login, st.sampled_from(["a", "b"]), ENDS, st.sampled_from(["", "me", "you"]))


@given(LOGINS)
def test_no_login_is_newer_than_itself(login):
    """Else each look would write the same file again."""
    assert not login.supersedes(login)


def test_the_mark_tells_tokens_apart_and_nothing_else():
    """What else a CLI changes in the file is no new token."""
    assert a_login("at-1", NOW).mark == a_login("at-1", None).mark != a_login("at-2").mark
    assert ClaudeCoder.read_login(b"[]") is None
