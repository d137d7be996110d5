"""Where a strict box leads to: names, ports and addresses."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleet.sandbox.network_holder import (
    KeptKey,
    Veil,
    VendorAnswer,
    is_named,
    may_connect,
    read_host,
)
from tests.echoing_vendor import unchunked

NAMED = ("api.example.com", "*.npm.org", "127.0.0.1:8080", "Registry.Example.com.:8443")
HOSTS = [read_host(host) for host in NAMED]


@pytest.mark.parametrize(
    ("host", "port", "led"),
    [
        ("api.example.com", 443, True),
        ("API.example.com.", 80, True),
        ("api.example.com", 22, False),
        ("api.example.com.evil.org", 443, False),
        ("evil-api.example.com", 443, False),
        ("sub.api.example.com", 443, False),
        ("a.npm.org", 443, True),
        ("a.b.npm.org", 443, True),
        ("npm.org", 443, False),
        ("evilnpm.org", 443, False),
        ("127.0.0.1", 8080, True),
        ("127.0.0.1", 443, False),
        ("registry.example.com", 8443, True),
        ("registry.example.com", 443, False),
        ("", 443, False),
    ],
)
def test_only_named_hosts_are_led_to(host, port, led):
    """A name is compared whole, and a host without a port has two."""
    assert is_named(HOSTS, host, port) is led


@pytest.mark.parametrize(
    ("host", "address", "may"),
    [
        ("api.example.com", "93.184.216.34", True),
        ("api.example.com", "127.0.0.1", False),
        ("api.example.com", "10.1.2.3", False),
        ("api.example.com", "169.254.169.254", False),
        ("api.example.com", "::1", False),
        ("api.example.com", "::ffff:127.0.0.1", False),
        ("api.example.com", "fe80::1%eth0", False),
        ("127.0.0.1", "127.0.0.1", True),
        ("localhost", "::1", True),
        ("10.1.2.3", "10.1.2.3", True),
    ],
)
def test_a_name_must_not_lead_to_this_machine_or_its_network(host, address, may):
    """An allowed name whose owner points it at 127.0.0.1 opens nothing."""
    assert may_connect(host, address) is may


def a_key(*values):
    key = KeptKey("KEY", {"mark": "kept-outside-1", "header": "x-key", "file": "unread"})
    key.values = list(values)
    return key


def passed(data, cuts, *values):
    """What reaches the box of an answer that comes in pieces; and whether it is complete."""
    answer = VendorAnswer(Veil([a_key(*values)]), bodiless=False)
    places = [0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
    pieces = [data[at:end] for at, end in pairwise(places)]
    out = b"".join(answer.feed(piece) for piece in pieces if not answer.done)
    return (out if answer.done else out + answer.end()), answer.done


@st.composite
def bodies(draw):
    """A body in which keys, and beginnings of keys, lie between other bytes."""
    key = draw(st.sampled_from([b"aaaaaaab", b"abababab", b"sk-0123456789"]))
    word = st.one_of(
        st.just(key), st.integers(1, len(key) - 1).map(lambda end: key[:end]),
        st.binary(max_size=9),
    )  # fmt: skip
    return key, b"".join(draw(st.lists(word, max_size=9)))


@given(body=bodies(), size=st.integers(1, 30), cuts=st.lists(st.integers(0), max_size=9))
def test_no_key_passes_wherever_an_answer_is_cut(body, size, cuts):
    """By chunks, by length or by the end: what arrives is the answer with each key replaced."""
    key, text = body
    stand_in = b"kept-outside-1"[: len(key)]
    wanted = text.replace(key, stand_in)
    ok = b"HTTP/1.1 200 OK\r\n"
    counted = ok + b"Content-Length: %d\r\n\r\n" % len(text) + text
    out, done = passed(counted, cuts, key)
    assert out.partition(b"\r\n\r\n")[2] == wanted
    assert done
    out, done = passed(ok + b"\r\n" + text, cuts, key)
    assert out.partition(b"\r\n\r\n")[2] == wanted
    assert done is False
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    framed = b"".join(b"%x;a=b\r\n%b\r\n" % (len(piece), piece) for piece in pieces)
    chunked = ok + b"Transfer-Encoding: chunked\r\n\r\n" + framed + b"0\r\nx: y\r\n\r\n"
    out, done = passed(chunked, cuts, key)
    assert unchunked(out.partition(b"\r\n\r\n")[2]) == wanted
    assert done


def test_an_event_is_passed_on_as_soon_as_it_is_there():
    """A stream of events must not wait for the next one: only what may begin a key is held."""
    answer = VendorAnswer(Veil([a_key(b"sk-0123456789")]), bodiless=False)
    answer.feed(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    assert answer.feed(b"8\r\ndata: 1\n\r\n") == b"8\r\ndata: 1\n\r\n"
    assert answer.feed(b"9\r\ndata: sk-\r\n") == b"6\r\ndata: \r\n"
    assert answer.feed(b"1\r\n\n\r\n") == b"4\r\nsk-\n\r\n"


def test_informational_answers_pass_before_the_answer():
    """A client that waits for `100 Continue` gets it, and the key is masked in what follows."""
    answer = VendorAnswer(Veil([a_key(b"sk-0123456789")]), bodiless=False)
    assert answer.feed(b"HTTP/1.1 100 Continue\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
    rest = answer.feed(b"HTTP/1.1 204 No\r\nx: sk-0123456789\r\n\r\n")
    assert rest == b"HTTP/1.1 204 No\r\nx: kept-outside-\r\n\r\n"
    assert answer.done


@pytest.mark.parametrize(
    "values", [(b"sk-old-old-old", b"sk-new-new-new"), (b"sk-part", b"sk-part-long")]
)
def test_every_value_that_a_key_had_is_masked(values):
    """Also where one is the beginning of another."""
    veil = Veil([a_key(*(each.ljust(12, b"x") for each in values))])
    out = veil.feed(b" ".join(each.ljust(12, b"x") for each in values)) + veil.rest()
    assert b"sk-" not in out
