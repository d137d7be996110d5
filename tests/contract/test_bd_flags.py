"""Command lines are read as bd's own parser reads them."""

import pytest

from fleet.bd.pflag import Flag, FlagError, parse

FLAGS = (
    Flag("json", "switch"),
    Flag("quiet", "switch", "q"),
    Flag("force", "switch", "f"),
    Flag("limit", "number", "n"),
    Flag("title"),
    Flag("priority", short="p"),
    Flag("labels", "list", "l", ("label",)),
    Flag("set-metadata", "array"),
)


@pytest.mark.parametrize(
    ("args", "values", "words"),
    [
        ([], {}, ()),
        (["a", "b"], {}, ("a", "b")),
        (["--title", "x"], {"title": "x"}, ()),
        (["--title=x"], {"title": "x"}, ()),
        (["--title="], {"title": ""}, ()),
        (["--title=a=b"], {"title": "a=b"}, ()),
        (["--title", "--json"], {"title": "--json"}, ()),
        (["--title", "--"], {"title": "--"}, ()),
        (["word", "--json", "more"], {"json": True}, ("word", "more")),
        (["--json=false"], {"json": False}, ()),
        (["--json=T"], {"json": True}, ()),
        (["-qf"], {"quiet": True, "force": True}, ()),
        (["-qn5"], {"quiet": True, "limit": 5}, ()),
        (["-n", "-1"], {"limit": -1}, ()),
        (["-n=7"], {"limit": 7}, ()),
        (["--limit", "+3"], {"limit": 3}, ()),
        (["-pP1"], {"priority": "P1"}, ()),
        (["-p", "1", "-p", "2"], {"priority": "2"}, ()),
        (["-l", "a,b", "--label", " c ,,"], {"labels": ("a", "b", "c")}, ()),
        (["-l", ""], {"labels": ()}, ()),
        (["--set-metadata", "a=1,2", "--set-metadata", ""], {"set-metadata": ("a=1,2", "")}, ()),
        (["-"], {}, ("-",)),
        (["--", "--json", "-x"], {}, ("--json", "-x")),
        (["a", "--", "--", "b"], {}, ("a", "--", "b")),
        (["line\nbreak", '[b]"x"[/b]'], {}, ("line\nbreak", '[b]"x"[/b]')),
    ],
)  # fmt: skip
def test_a_line_is_read(args, values, words):
    """Flags stand anywhere, in any of their forms; after -- everything is a word."""
    line = parse(FLAGS, args)
    assert (dict(line.values), line.words) == (values, words)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--nope"], "unknown flag: --nope"),
        (["--nope=1"], "unknown flag: --nope"),
        (["-x"], "unknown shorthand flag: 'x' in -x"),
        (["-qx1"], "unknown shorthand flag: 'x' in -qx1"),
        (["-dash"], "unknown shorthand flag: 'd' in -dash"),
        (["--title"], "flag needs an argument: --title"),
        (["-n"], "flag needs an argument: 'n' in -n"),
        (
            ["-n", "abc"],
            (
                'invalid argument "abc" for "-n, --limit" flag:'
                ' strconv.ParseInt: parsing "abc": invalid syntax'
            ),
        ),
        (
            ["--limit", "99999999999999999999"],
            (
                'invalid argument "99999999999999999999" for "-n, --limit" flag:'
                ' strconv.ParseInt: parsing "99999999999999999999": value out of range'
            ),
        ),
        (
            ["--json=maybe"],
            (
                'invalid argument "maybe" for "--json" flag:'
                ' strconv.ParseBool: parsing "maybe": invalid syntax'
            ),
        ),
    ],
)
def test_a_line_that_cannot_be_read_is_refused_in_bds_words(args, message):
    """The text is the one that scripts know."""
    with pytest.raises(FlagError) as refused:
        parse(FLAGS, args)
    assert str(refused.value) == message


def test_a_flag_that_was_not_given_is_told_from_an_empty_one():
    """`--assignee ''` clears an assignee; no --assignee leaves it."""
    line = parse(FLAGS, ["--title", "", "-l", ""])
    assert line.has("title")
    assert line.has("labels")
    assert not line.has("priority")
    assert line.text("priority", "2") == "2"
    assert line.list("set-metadata") == ()
    assert line.number("limit", 50) == 50
