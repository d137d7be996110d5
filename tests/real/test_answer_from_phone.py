"""A real CLI asks, a phone rings, a button is pressed, and the same session goes on."""

import pytest

from tests.conftest import coders
from tests.notify_fakes.telegram import TOKEN, TelegramFake
from tests.real.house import CLOSE, WORK, hear
from tests.real.test_ask_human import ASK
from tests.scripted_model import Say, ScriptedModel

ADA = 11


@pytest.fixture
def telegram():
    fake = TelegramFake()
    yield fake
    fake.close()


@coders("codex")
def test_a_button_on_a_phone_resumes_the_session_that_asked(house, coder, telegram):
    """The slot is free meanwhile; the answer is the option of the button."""
    with ScriptedModel(ASK, Say(text="I end my turn."), WORK, CLOSE, Say()) as model:
        here = house(coder, model)
        here.configure(ask_wait="1s")
        here.env["BOT_TOKEN"] = TOKEN
        settings = here.home / "runtime.toml"
        settings.write_text(
            f'{settings.read_text()}\n[notify.telegram]\ntoken = "env:BOT_TOKEN"\n'
            f'base_url = "{telegram.url}"\nusers = [{ADA}]\n'
        )
        here.create(coder)
        supervisor = here.supervise()
        message = telegram.until(lambda: telegram.sent and telegram.sent[0], 60)
        assert "Plums or pears?" in message["text"]
        hear(supervisor, "blocked")
        telegram.press(ADA, message, 1)
        edit = telegram.until(lambda: telegram.edits and telegram.edits[0], 60)
        assert f"answered by telegram {ADA}" in edit["text"]
        hear(supervisor, "closed")
        first, second = here.ending(1), here.ending(2)
        assert first["outcome"]["type"] == "NeedsHuman"
        assert second["session_id"] == first["session_id"]
        assert "pears" in str(model.requests[2:])
