"""A real Slurm on this machine, for as long as a test runs: munge, one controller, one node."""

import os
import shutil
import subprocess
import time
from pathlib import Path

from tests.contract.postgres_server import free_port

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "scontrol")
_CONF = """
ClusterName=tests
SlurmctldHost={node}(127.0.0.1)
SlurmctldPort={control}
SlurmdPort={daemon}
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={root}/munge/socket
CryptoType=crypto/munge
StateSaveLocation={root}/state
SlurmdSpoolDir={root}/spool
SlurmctldPidFile={root}/slurmctld.pid
SlurmdPidFile={root}/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
ReturnToService=2
SchedulerParameters=sched_interval=1
NodeName={node} NodeAddr=127.0.0.1 CPUs=4
PartitionName=all Nodes={node} Default=YES MaxTime=INFINITE State=UP
"""


def missing_program():
    """What of Slurm is not installed, or cannot be used; empty: all is there."""
    if os.geteuid() != 0:
        return "root (for slurm)"
    path = f"{os.environ['PATH']}:/usr/sbin:/sbin"
    return next((each for each in PROGRAMS if shutil.which(each, path=path) is None), "")


class Slurm:
    """Close it, whatever happens."""

    def __init__(self, root):
        self.root = Path(root)
        self.root.chmod(0o755)
        self.daemons = []
        for name in ("munge", "state", "spool"):
            (self.root / name).mkdir(mode=0o755, parents=True)
        # Munge refuses a socket below a directory that others can write to.
        (key := self.root / "munge" / "key").write_bytes(os.urandom(1024))
        key.chmod(0o400)
        self.env = {**os.environ, "PATH": f"{os.environ['PATH']}:/usr/sbin:/sbin"}
        self.env["SLURM_CONF"] = str(self.root / "slurm.conf")
        node = os.uname().nodename.partition(".")[0]
        text = _CONF.format(root=self.root, node=node, control=free_port(), daemon=free_port())
        (self.root / "slurm.conf").write_text(text)
        # A kernel with the second version of control groups only has no other choice to make.
        version = "v2" if Path("/sys/fs/cgroup/cgroup.controllers").exists() else "v1"
        (self.root / "cgroup.conf").write_text(f"CgroupPlugin=cgroup/{version}\n")

    def start(self):
        munge = self.root / "munge"
        own = [
            f"--{name}={munge}/{name}" for name in ("socket", "pid-file", "log-file", "seed-file")
        ]
        self._daemon("munged", "--foreground", "--force", f"--key-file={munge}/key", *own)
        self.until((munge / "socket").exists)
        self._daemon("slurmctld", "-D", "-c")
        self._daemon("slurmd", "-D", "-b")
        self.until(lambda: b"idle" in self.ask("sinfo", "--noheader", "--format=%t").stdout)

    def submit(self, script, **variables):
        """The number of a job."""
        given = ",".join(("ALL", *(f"{name}={value}" for name, value in variables.items())))
        done = self.ask("sbatch", "--parsable", f"--export={given}", "--output",
                        self.root / "job-%j.out", script)  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout.decode().strip()

    def state(self, job):
        done = self.ask("scontrol", "show", "job", job).stdout.decode()
        return next((w.partition("=")[2] for w in done.split() if w.startswith("JobState=")), "")

    def output(self, job):
        path = self.root / f"job-{job}.out"
        return path.read_text() if path.exists() else ""

    def ask(self, *words):
        argv = [str(each) for each in words]
        return subprocess.run(argv, env=self.env, capture_output=True, timeout=30, check=False)

    def until(self, fact, patience=60.0):
        end = time.monotonic() + patience
        while not (found := fact()):
            assert time.monotonic() < end, self.words()
            time.sleep(0.1)
        return found

    def words(self):
        """What the daemons said last."""
        return "\n".join(path.read_text()[-2000:] for path in sorted(self.root.glob("*.log")))

    def close(self):
        for daemon in reversed(self.daemons):
            daemon.terminate()
            try:
                daemon.wait(20)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait(20)

    def _daemon(self, program, *words):
        path = shutil.which(program, path=self.env["PATH"])
        with (self.root / f"{program}.log").open("ab") as log:
            self.daemons.append(
                subprocess.Popen([path, *words], env=self.env, stdout=log, stderr=log)
            )
