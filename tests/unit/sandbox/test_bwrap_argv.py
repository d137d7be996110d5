"""The command line of a box: what comes after what, and what counts where two meet."""

from fleet.sandbox.bwrap_argv import Box, Mount, bwrap_argv


def words(**box):
    return bwrap_argv(Box(**{"home": "/home/op", "cwd": "/p", **box}), ["agent", "-p"])


def place(argv, *part):
    """Where these words stand next to each other."""
    found = [at for at in range(len(argv)) if argv[at : at + len(part)] == part]
    assert len(found) == 1, (part, found)
    return found[0]


def test_a_box_has_namespaces_of_its_own_and_no_rights():
    """Nothing outside can be signalled, and the box ends with the keeper."""
    argv = words()
    for word in ("user", "pid", "ipc", "uts"):
        place(argv, f"--unshare-{word}")
    place(argv, "--cap-drop", "ALL")
    place(argv, "--die-with-parent")
    place(argv, "--new-session")
    assert "--unshare-net" not in argv
    assert argv[-3:] == ("--", "agent", "-p")


def test_without_a_network_there_is_none():
    assert "--unshare-net" in words(network=False)


def test_deeper_paths_count_more_than_those_above():
    """Artifacts in a hidden home, keys in an open directory: the order of mounts decides."""
    argv = words(
        read=("/srv", "/srv/data/in"),
        write=("/srv/data", "/home/op/fleet/artifacts"),
        hidden_directories=("/srv/data/in/.ssh",),
    )
    srv = place(argv, "--ro-bind", "/srv", "/srv")
    data = place(argv, "--bind", "/srv/data", "/srv/data")
    inside = place(argv, "--ro-bind", "/srv/data/in", "/srv/data/in")
    assert srv < data < inside < place(argv, "--tmpfs", "/srv/data/in/.ssh")
    own = place(argv, "--bind", "/home/op/fleet/artifacts", "/home/op/fleet/artifacts")
    assert place(argv, "--tmpfs", "/home/op") < own


def test_what_is_opened_above_in_the_same_way_is_not_mounted_again():
    """Each mount costs time at every start."""
    argv = words(read=("/usr", "/usr/local/bin"), write=("/p", "/p/deep"))
    assert "/usr/local/bin" not in argv
    assert "/p/deep" not in argv


def test_where_two_name_one_path_writing_counts():
    """The operator opens for writing what a toolchain opens for reading."""
    argv = words(read=("/x",), write=("/x",), hidden_directories=("/x",))
    place(argv, "--bind", "/x", "/x")
    assert "--ro-bind" not in argv


def test_private_directories_have_an_end():
    """An agent that fills one fills its own."""
    argv = words()
    for path in ("/tmp", "/var/tmp", "/run", "/dev/shm", "/home/op"):
        assert argv[place(argv, "--tmpfs", path) - 2] == "--size"


def test_a_mount_takes_the_place_of_what_lies_there_outside():
    """A run's own state at the path of the user's, with the user's settings on top."""
    state = Mount(source="/fleet/cli", target="/home/op/.claude", write=True)
    settings = Mount(source="/dotfiles/s.json", target="/home/op/.claude/settings.json")
    inside = "/home/op/.claude/local"
    argv = words(mounts=(settings, state), write=("/p",), read=("/home/op", inside))
    own = place(argv, "--bind", "/fleet/cli", "/home/op/.claude")
    assert own < place(argv, "--ro-bind", "/dotfiles/s.json", settings.target)
    assert own < place(argv, "--ro-bind", inside, inside)
    assert "/home/op/.claude" not in argv[:own]


def test_what_lies_in_a_mount_is_mounted_by_itself():
    """The directory above is open in the same way, and is another one."""
    rules = Mount(source="/home/op/rules", target="/x/rules")
    argv = words(mounts=(rules,), read=("/x/rules/mine",))
    place(argv, "--ro-bind", "/x/rules/mine", "/x/rules/mine")
