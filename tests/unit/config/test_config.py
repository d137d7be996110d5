"""runtime.toml: what is accepted, what is refused, and that nothing is lost in between."""

from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleet import config
from fleet.config import runtime_toml
from fleet.errors import BadInput, ConfigError


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "runtime.toml"


def test_a_new_file_holds_only_what_was_chosen(file):
    """Every other key has its default, so that a later default reaches the home."""
    file.write_text(config.default_text())
    assert config.load(file) == config.Config()
    chosen = {"queue": "embedded", "sandbox": "strict", "land": "ask", "max_concurrent": 7}
    file.write_text(config.default_text(**chosen))
    assert config.load(file) == config.Config(**chosen)
    assert runtime_toml.given_keys(file) == chosen.keys()
    assert len(file.read_text().splitlines()) == 2 + len(chosen)


def test_the_fields_of_config_are_the_keys_of_the_file():
    """Config and KEYS cannot drift apart."""
    defaults = msgspec.to_builtins(config.Config())
    notify = msgspec.to_builtins(config.Config().notify)
    otel = msgspec.to_builtins(config.Config().otel)
    tables = {"projects": {}, "prices": {}, "accounts": {}, "notify": notify, "otel": otel}
    tables["converted"] = ()
    assert defaults == {name: key.default for name, key in config.KEYS.items()} | tables


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("max_concurrent = = 3", "line 1, column 18"),
        ('coder = "claude', "line 1, column 16"),
        ("\n\nmax_concurrent = 0", "line 3: max_concurrent must be between 1 and 1000"),
        ("max_concurrent = true", "whole number"),
        ('max_concurrent = "3"', "whole number"),
        ("model = 3", "text in quotes"),
        ('model = "  "', "must not be empty"),
        ("max_concurent = 3", "did you mean max_concurrent?"),
        ("[unheard_of]", "unheard_of is not a key"),
        (
            '[projects."/a"]\n[projects."/b"]\nverfy = "x"',
            'line 2: projects "/b": verfy is not a key',
        ),
        ('[prices."a*"]\ninput = 1\noutput = 1\n[prices."b*"]', 'line 4: prices "b*": input'),
        (
            '[accounts.claude]\ncoder = "claude"\n[accounts.b]\nweight = -1',
            "line 3: accounts b: weight",
        ),
    ],
)
def test_a_broken_file_is_refused_with_its_place(file, text, place):
    """No command runs on a wrong configuration."""
    file.write_text(text)
    with pytest.raises(ConfigError) as caught:
        config.load(file)
    assert place in caught.value.message


def test_a_file_that_is_not_utf8_is_refused_with_the_byte(file):
    """Bytes that cannot be text are named by their place."""
    file.write_bytes(b'model = "\xff"')
    with pytest.raises(ConfigError, match="byte 9"):
        config.load(file)


@pytest.mark.parametrize(
    "word",
    ["max_concurrent=0", "max_concurrent=abc", "max_concurrent=", "nope=1", "model", "model="],
)
def test_a_bad_assignment_is_refused(word):
    """`fleet config set` checks type, range and name before it touches the file."""
    with pytest.raises(BadInput):
        runtime_toml.read_assignment(word)


def test_a_change_keeps_comments_and_order(file):
    """A file that a person wrote stays theirs."""
    text = '# mine\nmodel = "opus"  # the big one\n\n# why\nmax_concurrent = 2\n'
    after = runtime_toml.changed(text, {"max_concurrent": 9}, file)
    assert after == text.replace("= 2", "= 9")


@given(st.text(alphabet=st.characters(codec="utf-8", exclude_characters="\x00"), min_size=1))
def test_any_text_survives_being_set(value):
    """Quotes, newlines and brackets in a value can neither break the file nor add keys to it."""
    before = '# mine\ncoder = "codex"\nmodel = "opus"  # the big one\nmax_concurrent = 2\n'
    text = runtime_toml.changed(before, {"model": value}, Path("runtime.toml"))
    found = runtime_toml.parse(text, Path("runtime.toml"))
    assert found == {"coder": "codex", "model": value, "max_concurrent": 2}


@pytest.mark.parametrize("text", [f"grace_s = {'9' * 5000}", f"coder = {'[' * 100_000}"])
def test_a_number_or_a_list_without_an_end_is_a_broken_file(file, text):
    """A supervisor that reads it goes on with the settings it has."""
    file.write_text(text)
    with pytest.raises(ConfigError, match="is not valid TOML"):
        config.load(file)
