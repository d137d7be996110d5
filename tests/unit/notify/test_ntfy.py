"""The topic that buttons send to."""

from fleet.notify.channels.ntfy import Ntfy
from tests.notify_fakes.ntfy import NtfyFake


def test_what_no_button_sent_is_passed_over():
    """A topic takes messages of anyone who knows its name: none of them may end the listening."""
    server = NtfyFake()
    try:
        topic = Ntfy(server.url, "secret", "")
        for text in ("hello", "nonce:", "nonce:²", "nonce:" + "1" * 5000, "nonce:-1", "nonce:2"):
            server.publish("secret-answers", message=text)
        server.publish("secret-answers", message=7)
        found, place = topic.replies("")
        assert [(each.nonce, each.option) for each in found] == [("nonce", 2)]
        assert topic.replies(place) == ([], place)
    finally:
        server.close()
