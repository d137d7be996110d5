"""A keyring that holds what it is told, for the `keyring` library in any process."""

import json
import os

SOURCE = """
import json, os, time
from keyring import errors
from keyring.backend import KeyringBackend

class Keyring(KeyringBackend):
    priority = 1
    set_password = delete_password = None

    def get_password(self, service, username):
        told = json.load(open(os.environ["FAKE_KEYRING"]))
        open(os.environ["FAKE_KEYRING"] + ".asked", "a").write("x")
        time.sleep(told["sleeps"])
        if told["fails"]:
            raise eval("errors." + told["fails"])
        return told["holds"].get(service, {}).get(username)
"""


class FakeKeyring:
    """Put into an environment, and told what to answer."""

    def __init__(self, folder, env):
        folder.mkdir()
        (folder / "keyring_of_a_test.py").write_text(SOURCE)
        self._file = folder / "told.json"
        self._told = {"holds": {}, "fails": "", "sleeps": 0}
        self._write()
        paths = [str(folder), *filter(None, [os.environ.get("PYTHONPATH")])]
        env["PYTHONPATH"] = os.pathsep.join(paths)
        env["PYTHON_KEYRING_BACKEND"] = "keyring_of_a_test.Keyring"
        env["FAKE_KEYRING"] = str(self._file)

    def holds(self, **services):
        self._told |= {"holds": services, "fails": ""}
        self._write()

    def fails(self, error):
        self._told |= {"fails": error}
        self._write()

    def sleeps(self, seconds):
        self._told |= {"sleeps": seconds}
        self._write()

    @property
    def times(self):
        """How often a secret was asked for."""
        asked = self._file.with_name("told.json.asked")
        return len(asked.read_text()) if asked.exists() else 0

    def _write(self):
        self._file.write_text(json.dumps(self._told))
