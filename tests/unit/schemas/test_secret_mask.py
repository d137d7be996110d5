"""Known secrets in a text."""

from fleet.schemas.secret_mask import SecretMask


def test_a_secret_is_masked_also_inside_json():
    """A stream of JSON lines holds a value with its quotes and strokes escaped."""
    mask = SecretMask(['p"4ss\\word!', "short", "sk-0123456789", "sk-0123456789-longer"])
    assert mask.text("a sk-0123456789-longer b sk-0123456789 short") == "a *** b *** short"
    assert mask.line(rb'{"text":"p\"4ss\\word!"}') == b'{"text":"***"}'
    assert mask.met


def test_without_secrets_nothing_is_changed_or_met():
    """A value too short to be a secret would spoil words."""
    mask = SecretMask(["", "1234567"])
    assert (mask.line(b"1234567"), mask.met, mask.values) == (b"1234567", False, ())
