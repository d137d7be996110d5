"""What tokens cost: a person's price, else the list price, else it is not known."""

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as some

from fleet import config
from fleet.errors import ConfigError
from fleet.schemas import Price, Usage
from fleet.spending.prices import Prices, list_price, list_prices

MILLION = Usage(input=1_000_000, cache_read=1_000_000, cache_write=1_000_000, output=1_000_000)


@pytest.mark.parametrize(
    ("model", "dollars"),
    [
        ("claude-sonnet-4-5-20250929", 3 + 0.3 + 3.75 + 15),
        ("claude-sonnet-4-5[1m]", 3 + 0.3 + 3.75 + 15),
        ("claude-opus-4-1-20250805", 15 + 1.5 + 18.75 + 75),
        ("Claude Opus 4.1", 15 + 1.5 + 18.75 + 75),
        ("claude-opus-4-20250514", 15 + 1.5 + 18.75 + 75),
        ("gpt-5-2025-08-07", 1.25 + 0.125 + 1.25 + 10),
        ("openai/gpt-5.1-codex", 1.25 + 0.125 + 1.25 + 10),
        ("gpt-5.1-codex-mini", 0.25 + 0.025 + 0.25 + 2),
        ("codex-mini-latest", 1.5 + 0.375 + 1.5 + 6),
        ("gpt-5.2-pro", 21 + 21 + 21 + 168),
        ("Gemini 3 Pro (High)", 2 + 0.2 + 2 + 12),
    ],
)
def test_a_model_is_known_by_any_of_its_names(model, dollars):
    """As its CLI writes it, dated or not, with a vendor before it or a word behind."""
    assert Prices().estimate(MILLION, model) == pytest.approx(dollars)


@pytest.mark.parametrize("alias", ["sonnet", "opus", "haiku", "opus[1m]"])
def test_an_alias_costs_what_the_newest_model_of_its_family_costs(alias):
    """A claude CLI means that model by it."""
    family = alias.partition("[")[0]
    models = [name for name in list_prices() if name.startswith(f"claude-{family}-")]
    newest = max(models, key=lambda name: [int(part) for part in name.split("-")[2:]])
    assert Prices().of(alias) == list_price(newest)


@pytest.mark.parametrize(
    "model", ["", " ", "my-own-model", "default", "claude-opus-99", "gemma-3", "qwen3-coder:free"]
)
def test_a_model_without_a_price_has_no_cost(model):
    """Not nought, even where the library lists a model as free of charge."""
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


@given(some.data(), some.integers(0, 10**12))
def test_an_estimate_is_never_negative_and_grows_with_the_tokens(data, tokens):
    """For each model of the list."""
    model = data.draw(some.sampled_from(sorted(list_prices())))
    small = Prices().estimate(Usage(output=tokens), model)
    large = Prices().estimate(Usage(output=tokens + 1), model)
    assert large is not None
    assert (small or 0) < large


LOOKS = """
import sys
import fleet.supervisor.loop, fleet.cli.cost.usage
from fleet.schemas import Price, Usage
from fleet.spending.prices import Prices
own = Prices({"mine*": Price(input=1, output=1, cache_read=1, cache_write=1)})
assert own.estimate(Usage(output=10**6), "mine-1") == 1
assert own.estimate(Usage(), "gpt-5") is None
assert not {"genai_prices", "pydantic", "httpx2"} & set(sys.modules)
def audit(event, args):
    assert not event.startswith("socket."), event
sys.addaudithook(audit)
assert own.estimate(Usage(output=10**6), "gpt-5") == 10
"""


def test_the_library_is_loaded_by_the_first_list_price_and_opens_no_socket():
    """Neither a command nor the start of a supervisor pays for it."""
    done = subprocess.run(
        [sys.executable, "-c", LOOKS], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


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
