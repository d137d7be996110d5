"""A real sshd on the loopback interface, as this user, with keys and a login of its own."""

import os
import shutil
import signal
import subprocess
import time

from tests.contract.postgres_server import free_port

_ROOM = "/run/sshd"


def sshd_program():
    """The path of sshd, or None."""
    return shutil.which("sshd") or shutil.which("sshd", path="/usr/sbin:/usr/local/sbin")


class SshServer:
    """Every login finds itself in `login`: the person's own files are never touched."""

    def __init__(self, place):
        self.place, self.port = place, free_port()
        self.login = place / "login"
        self.login.mkdir(parents=True)
        self._broken = place / "broken"
        self._broken.mkdir()
        for key in ("host_key", "key"):
            subprocess.run(
                ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", place / key], check=True
            )
        enter = place / "enter"
        path = f"{self._broken}:{os.environ['PATH']}"
        enter.write_text(
            "#!/bin/sh\n"
            f"export HOME={self.login} SHELL=/bin/false PATH={path} PYTHONDONTWRITEBYTECODE=1\n"
            "unset XDG_RUNTIME_DIR DBUS_SESSION_BUS_ADDRESS\n"
            'cd "$HOME"; exec /bin/sh -c "$SSH_ORIGINAL_COMMAND"\n'
        )
        enter.chmod(0o755)
        (place / "config").write_text(
            f"ListenAddress 127.0.0.1:{self.port}\nHostKey {place}/host_key\n"
            f"AuthorizedKeysFile {place}/key.pub\nPidFile none\nStrictModes no\nUsePAM no\n"
            "PasswordAuthentication no\nKbdInteractiveAuthentication no\nPermitRootLogin yes\n"
            f"ForceCommand {enter}\n"
        )
        self._server, self._is_under = None, False

    def start(self, under=()):
        """Start the server, `under` another program if wanted."""
        self._is_under = bool(under)
        if os.geteuid() == 0:
            os.makedirs(_ROOM, mode=0o755, exist_ok=True)  # noqa: PTH103 - sshd of root demands it
        with (self.place / "log").open("wb") as log:
            self._server = subprocess.Popen(
                [*under, sshd_program(), "-D", "-e", "-f", self.place / "config"],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            )  # fmt: skip
        end = time.monotonic() + 60
        while b"Server listening" not in (self.place / "log").read_bytes():
            assert self._server.poll() is None, (self.place / "log").read_text()
            assert time.monotonic() < end, (self.place / "log").read_text()
            time.sleep(0.05)

    def without_programs(self, *names):
        """Let these programs, and no others, fail for every login."""
        for program in self._broken.iterdir():
            program.unlink()
        for name in names:
            (self._broken / name).write_text("#!/bin/sh\nexit 1\n")
            (self._broken / name).chmod(0o755)

    def options(self, **more):
        """What `-o` of ssh needs to get in."""
        own = {
            "Port": self.port, "IdentityFile": self.place / "key", "IdentitiesOnly": "yes",
            "StrictHostKeyChecking": "accept-new", "LogLevel": "ERROR",
            "UserKnownHostsFile": self.place / "known", "IdentityAgent": "none",
        }  # fmt: skip
        return [word for key, value in (own | more).items() for word in ("-o", f"{key}={value}")]

    def stop(self):
        if self._server is not None:
            self._server.send_signal(signal.SIGKILL if self._is_under else signal.SIGTERM)
            self._server.wait(30)
