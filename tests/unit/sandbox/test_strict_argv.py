"""The command line of a strict box, and the environment that leads programs to its proxy."""

import json

from fleet.sandbox.bwrap_argv import Box
from fleet.sandbox.strict_argv import proxied_env, strict_argv

BOX = Box(home="/home/op", cwd="/p", network=False)


def test_the_holder_is_outside_and_what_hands_over_is_inside():
    """The rules are with the process that the agent cannot reach."""
    argv = strict_argv(BOX, ["agent"], program="/usr/bin/bwrap", hosts=["b.org", "a.org"])
    bwrap = argv.index("/usr/bin/bwrap")
    assert json.loads(argv[bwrap - 1])["hosts"] == ["a.org", "b.org"]
    assert argv[bwrap - 2].endswith("network_holder.py")
    assert "--unshare-net" in argv[bwrap:]
    assert argv[argv.index("--") + 4].endswith("hand_over.py")
    assert argv[-1] == "agent"


def test_programs_are_led_to_the_proxy():
    """What listens in the box itself is reached without, unless a host of this machine is named."""
    env = proxied_env({"HTTPS_PROXY": "http://theirs"}, ["a.org"])
    assert env["HTTPS_PROXY"] == env["http_proxy"] == "http://127.0.0.1:3128"
    assert "127.0.0.1" in env["NO_PROXY"]
    assert proxied_env({}, ["127.0.0.1:8080"])["no_proxy"] == ""
