"""A systemd user instance in namespaces of its own: nothing of the machine's is touched."""

import os
import shutil
import subprocess

#: Gives the programs that follow a control group hierarchy, a runtime directory and a message bus
#: of their own, and the user instance that has them.
_SCRIPT = """
set -e
mount -t tmpfs tmpfs /sys/fs/cgroup
mount -t cgroup2 cgroup2 /sys/fs/cgroup
mkdir -p /sys/fs/cgroup/fleet-$$ && echo $$ > /sys/fs/cgroup/fleet-$$/cgroup.procs
mount -t tmpfs tmpfs /run
mkdir -p /run/sshd /run/systemd/system /run/user && mkdir -m 700 /run/user/0
export XDG_RUNTIME_DIR=/run/user/0 DBUS_SESSION_BUS_ADDRESS=unix:path=/run/user/0/bus
dbus-daemon --session --address=$DBUS_SESSION_BUS_ADDRESS --fork --nopidfile
HOME=$0 /lib/systemd/systemd --user &
until systemctl --user show-environment > /dev/null 2>&1; do sleep 0.1; done
exec "$@"
"""


def missing_services():
    """What a user instance would need and this machine lacks; empty: nothing."""
    if os.geteuid() != 0:
        return "root (for a systemd user instance)"
    for program in ("unshare", "dbus-daemon", "systemctl"):
        if shutil.which(program) is None:
            return program
    tried = subprocess.run(
        ["unshare", "-mC", "mount", "-t", "cgroup2", "cgroup2", "/sys/fs/cgroup"],
        capture_output=True, check=False,
    )  # fmt: skip
    return "" if os.path.exists("/lib/systemd/systemd") and not tried.returncode else "systemd"  # noqa: PTH110


def with_services(login):
    """The command line that runs a program beside a user instance for this login directory."""
    return ["unshare", "-mCpf", "--kill-child", "--mount-proc", "sh", "-c", _SCRIPT, str(login)]
