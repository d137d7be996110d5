"""What tokens cost: the CLI's word, else the table, else nobody knows."""

import pytest
from hypothesis import given
from hypothesis import strategies as some

from fleet import config
from fleet.errors import ConfigError
from fleet.schemas import Price, Usage
from fleet.spending.prices import TABLE, Prices

MILLION = Usage(input=1_000_000, cache_read=1_000_000, cache_write=1_000_000, output=1_000_000)


@pytest.mark.parametrize(
    ("model", "dollars"),
    [
        ("sonnet", 3 + 0.3 + 3.75 + 15),
        ("claude-sonnet-4-5-20250929", 3 + 0.3 + 3.75 + 15),
        ("opus", 5 + 0.5 + 6.25 + 25),
        ("claude-opus-4-1-20250805", 15 + 1.5 + 18.75 + 75),
        ("Claude Opus 4.1", 15 + 1.5 + 18.75 + 75),
        ("claude-opus-4-20250514", 15 + 1.5 + 18.75 + 75),
        ("gpt-5-2025-08-07", 1.25 + 0.125 + 1.25 + 10),
        ("openai/gpt-5.1-codex", 1.25 + 0.125 + 1.25 + 10),
        ("gpt-5.1-codex-mini", 0.25 + 0.025 + 0.25 + 2),
        ("Gemini 3 Pro (High)", 2 + 0.2 + 2 + 12),
    ],
)
def test_a_model_is_known_by_any_of_its_names(model, dollars):
    """As its CLI writes it, dated or not, with a vendor before it or a word behind."""
    assert Prices().estimate(MILLION, model) == pytest.approx(dollars)


@pytest.mark.parametrize("model", ["", " ", "GPT-OSS 120B", "my-own-model", "fable"])
def test_a_model_without_a_price_has_no_cost(model):
    """Not nought: nobody knows."""
    assert Prices().estimate(MILLION, model) is None


def test_no_tokens_are_no_estimate():
    """A CLI that tells of none may have used any number of them."""
    assert Prices().estimate(Usage(), "sonnet") is None


def test_a_persons_price_goes_first_and_the_longest_pattern_counts():
    """Whatever the table says, and in whichever order they stand."""
    own = {
        "*": Price(input=1, output=1, cache_read=1, cache_write=1),
        "Claude-Sonnet*": Price(input=7, output=0, cache_read=0, cache_write=0),
    }
    prices = Prices(own)
    assert prices.estimate(MILLION, "claude-sonnet-4-5") == 7
    assert prices.estimate(MILLION, "unheard-of") == 4


@given(some.sampled_from([pattern for pattern, _ in TABLE]), some.integers(0, 10**12))
def test_an_estimate_is_never_negative_and_grows_with_the_tokens(pattern, tokens):
    """For each row of the table."""
    model = pattern.replace("*", "").replace("[.-]", "-").replace("[01]", "1").replace("[57]", "5")
    small = Prices().estimate(Usage(output=tokens), model)
    large = Prices().estimate(Usage(output=tokens + 1), model)
    assert large is not None
    assert (small or 0) < large


def test_no_row_of_the_table_is_hidden_by_one_before_it():
    """What is more special comes first."""
    for number, (pattern, price) in enumerate(TABLE):
        name = pattern.replace("*", "x").replace("[.-]", "-").replace("[01]", "1")
        assert Prices().of(name.replace("[57]", "5")) is price, (number, pattern)


def load(tmp_path, text):
    (file := tmp_path / "runtime.toml").write_text(text)
    return config.load(file)


def test_prices_are_read_from_the_settings(tmp_path):
    """What is cached costs as much as what is not, unless it is said."""
    found = load(tmp_path, '[prices."my-*"]\ninput = 2\noutput = 4.5\ncache_read = 0\n')
    assert found.prices == {"my-*": Price(input=2, output=4.5, cache_read=0, cache_write=2)}


@pytest.mark.parametrize(
    ("text", "line", "complaint"),
    [
        ("prices = 3", 1, "must be tables like"),
        ('[prices]\n"a" = 3', 1, "must be tables like"),
        ('[prices."a"]\ninput = 1', 1, "output must be given"),
        ('coder = "claude"\n\n[prices."b"]\ninput = 1\noutput = 1\n[prices."a*"]', 6, "input and"),
        ('[prices."a"]\ninput = -1\noutput = 1', 1, "between 0 and 100,000, not -1"),
        ('[prices."a"]\ninput = nan\noutput = 1', 1, "between 0"),
        ('[prices."a"]\ninput = 1e99\noutput = 1', 1, "between 0"),
        (f'[prices."a"]\ninput = {"9" * 400}\noutput = 1', 1, "between 0"),
        ('[prices."a"]\ninput = "1"\noutput = 1', 1, "dollars for a million tokens, not '1'"),
        ('[prices."a"]\ninput = true\noutput = 1', 1, "dollars for a million tokens"),
        ('[prices."a"]\ninput = 1\noutput = 1\nthinking = 1', 1, "thinking is not a part"),
        ('[prices.""]\ninput = 1\noutput = 1', 1, "must name a model"),
    ],
)
def test_a_price_that_cannot_be_is_refused_with_its_line(tmp_path, text, line, complaint):
    """As everything in the file."""
    with pytest.raises(ConfigError) as error:
        load(tmp_path, text)
    assert f"line {line}: prices" in error.value.message
    assert complaint in error.value.message
