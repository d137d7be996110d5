"""Which rules a task is held to: its own, its project's, the configuration's."""

import pytest

from fleet import config
from fleet.config import runtime_toml
from fleet.errors import BadInput, ConfigError
from fleet.home.task_policy import check_contradictions, outside_of_git, policy_of
from fleet.schemas import Limits, LimitWishes, Sandbox, Settings, typed
from fleet.schemas.policy import check_expectation
from fleet.schemas.units import dollars, seconds, shown_size, shown_span, size

PROJECTS = """
expect = "answer"
work_in = "directory"
[projects."/srv"]
verify = ["make test"]
time_limit = "1h"
[projects."/srv/app"]
verify = "pytest -q"
work_in = "clone"
context = "lean"
sandbox = "workspace"
sandbox_read = ["~/.cache/pip", "/srv/data"]
sandbox_hosts = "*.example.org"
"""


@pytest.fixture
def settings(tmp_path):
    def load(text):
        (tmp_path / "runtime.toml").write_text(text)
        return config.load(tmp_path / "runtime.toml")

    return load


def test_the_defaults_of_the_file_are_the_defaults_of_the_limits():
    """The two places that name them cannot drift apart."""
    assert policy_of(config.Config(), Settings(), "/").policy.limits == Limits()


def test_the_innermost_project_counts(settings):
    """A project inside another has its own wishes; the outer one's are not added."""
    found = settings(PROJECTS)
    inner = policy_of(found, Settings(), "/srv/app/src").policy
    assert (inner.verify, inner.work_in, inner.limits.time) == (("pytest -q",), "clone", 14400)
    outer = policy_of(found, Settings(), "/srv/other").policy
    assert (outer.verify, outer.work_in, outer.limits.time) == (("make test",), "directory", 3600)
    beside = policy_of(found, Settings(), "/srv-2").policy
    assert (beside.verify, beside.expect) == ((), "answer")


@pytest.mark.parametrize(
    ("asked", "level"), [(None, "workspace"), ("off", "workspace"), ("strict", "strict")]
)
def test_a_task_asks_only_for_a_stricter_box(settings, asked, level):
    """What an import brings with a task cannot open the box that the operator configured."""
    found = policy_of(settings(PROJECTS), Settings(sandbox=asked), "/srv/app").policy.sandbox
    opened = (("~/.cache/pip", "/srv/data"), (), ("*.example.org",))
    assert (found.level, (found.read, found.write, found.hosts)) == (level, opened)
    assert policy_of(settings(PROJECTS), Settings(), "/srv").policy.sandbox == Sandbox()


@pytest.mark.parametrize(
    "line",
    [
        'sandbox = "some"',
        'sandbox_read = ["data"]',
        'sandbox_write = ["/srv/../etc"]',
        'sandbox_hosts = ["https://example.com"]',
    ],
)
def test_what_no_box_can_open_is_refused(settings, line):
    with pytest.raises(ConfigError, match="sandbox"):
        settings(f'[projects."/srv"]\n{line}\n')


def test_the_task_itself_has_the_last_word(settings):
    """And what it asked for is told apart from what it inherits."""
    own = Settings(verify=(), expect="change", limits=LimitWishes(turns=5))
    ruled = policy_of(settings(PROJECTS), own, "/srv/app")
    assert (ruled.policy.verify, ruled.policy.expect, ruled.policy.limits.turns) == (
        (),
        "change",
        5,
    )
    assert ruled.own == {"verify", "expect", "turns"}


def test_a_context_is_the_tasks_or_the_projects_or_full(settings):
    """As the CLI does by itself, where neither task nor project says otherwise."""
    found = settings(PROJECTS)
    assert policy_of(found, Settings(), "/elsewhere").policy.context == "full"
    assert policy_of(found, Settings(), "/srv/app").policy.context == "lean"
    own = policy_of(found, Settings(context="project"), "/srv/app")
    assert (own.policy.context, own.own) == ("project", {"context"})


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ('[projects."srv"]', "no absolute path"),
        ('[projects."/srv"]\ncoder = "x"', "coder is not a key of a project"),
        ('[projects."/srv"]\nverify = [1]', "must be a list of lines"),
        ('[projects."/srv"]\ntime_limit = "soon"', "is not a span of time"),
        ("projects = 3", "must be tables"),
        ('time_limit = "0s"', "between 1ms and a year"),
        ('memory_limit = "lots"', "is not a size"),
        ('cost_limit = "-1"', "is not a sum in dollars"),
        ('expect = "miracle"', "cannot be expected"),
        ('context = "tiny"', "must be one of full, project, lean"),
        ('work_in = "jail"', "must be one of directory, clone"),
        ('work_in = "directory"\nsandbox = "strict"', "work_in = directory excludes sandbox"),
        (
            'work_in = "directory"\n[projects."/srv"]\nsandbox = "workspace"',
            'projects "/srv": work_in = directory excludes sandbox = workspace',
        ),
        (
            '[projects."/srv"]\nwork_in = "directory"\npins = ["tests"]',
            'projects "/srv": work_in = directory excludes pins',
        ),
    ],
)
def test_a_wrong_setting_is_named_with_its_place(settings, text, complaint):
    """Nothing is taken for a default."""
    with pytest.raises(ConfigError, match="line") as error:
        settings(text)
    assert complaint in error.value.message


@pytest.mark.parametrize(
    ("text", "value"), [("90", 90), ("90s", 90), ("1h30m", 5400), ("0.5h", 1800), ("250ms", 0.25)]
)
def test_spans_are_read_as_people_write_them(text, value):
    """And written again as short as can be."""
    assert seconds(text) == value
    assert seconds(shown_span(value)) == value


def test_sizes_and_sums_are_read_as_people_write_them():
    """Units in either case, with or without a sign."""
    assert (size("8GB"), size("1.5mb"), size("2000000")) == (8 << 30, 3 << 19, 2_000_000)
    assert (shown_size(8 << 30), shown_size(1536)) == ("8GB", "1.5KB")
    assert (dollars("$2.50"), dollars("5")) == (2.5, 5.0)


@pytest.mark.parametrize("text", ["", "h", "-1h", "1h!", "999d", "nan"])
def test_what_is_no_span_is_refused(text):
    """With the forms that are."""
    with pytest.raises(BadInput):
        seconds(text)


@pytest.mark.parametrize("text", ["artifact:", "artifact:/etc/passwd", "artifact:../x", "tests"])
def test_an_expectation_must_be_one(text):
    """A file that must be there lies below the task's directory."""
    with pytest.raises(BadInput):
        check_expectation(text)


def test_a_boxed_task_in_the_directory_itself_is_refused(settings):
    """In git the project is read-only in a box; the error names what to change."""
    boxed = policy_of(settings(PROJECTS), Settings(sandbox="workspace"), "/srv").policy
    with pytest.raises(BadInput, match="excludes sandbox = workspace") as error:
        check_contradictions(boxed, "fleet-1")
    assert "fleet bd update fleet-1 --work-in clone" in error.value.hint
    in_clone = Settings(sandbox="workspace", work_in="clone")
    check_contradictions(policy_of(settings(PROJECTS), in_clone, "/srv").policy)


@pytest.mark.parametrize(
    ("isolation", "cwd", "work_in", "lands"),
    [
        ("clone", "/srv", "clone", False),
        ("worktree", "/srv", "clone", False),
        ("none", "/srv", "directory", False),
        ("none", "/srv/app", "clone", False),
    ],
)
def test_a_task_of_an_earlier_fleet_works_where_it_worked(settings, isolation, cwd, work_in, lands):
    """Its box decided over its wish for the directory then."""
    own = typed.convert({"isolation": isolation}, Settings)
    policy = policy_of(settings('land = "branch"\n' + PROJECTS), own, cwd).policy
    assert (policy.work_in, policy.land.lands) == (work_in, lands)
    check_contradictions(policy)


def test_outside_of_git_a_task_works_in_its_directory_and_needs_no_change():
    """There is nothing to compare with; a task that asks for a change itself has to show one."""
    ruled = policy_of(config.Config(), Settings(), "/srv")
    assert (ruled.policy.work_in, ruled.policy.expect, ruled.policy.land.mode) == (
        "clone", "change", "auto",
    )  # fmt: skip
    outside = outside_of_git(ruled)
    assert (outside.policy.work_in, outside.policy.expect) == ("directory", "any")
    assert not outside.policy.land.lands
    assert outside.origins == {"work_in": "outside of git", "expect": "outside of git"}
    asks = policy_of(config.Config(), Settings(expect="change"), "/srv")
    assert outside_of_git(asks).policy.expect == "change"


LANDED = """
land = "auto"
[projects."/srv/app"]
verify = ["make test"]
land_protect = [".github/**"]
land_into = "trunk"
[projects."/srv/stays"]
work_in = "directory"
[projects."/srv/gate"]
verify = ["make test"]
land = "ask"
land_verify = ["make all"]
"""


def test_what_lands_is_the_work_of_a_clone(settings):
    """Landing takes a clone; a project or a task that wants its directory itself does not land."""
    found = settings(LANDED)
    app = policy_of(found, Settings(branch="main"), "/srv/app").policy
    assert (app.work_in, app.land.mode, app.land.into) == ("clone", "auto", "trunk")
    assert app.land.protect == (".github/**",)
    for own, cwd in [(Settings(work_in="directory"), "/srv/app"), (Settings(), "/srv/stays")]:
        policy = policy_of(found, own, cwd).policy
        assert (policy.work_in, policy.land.mode) == ("directory", "branch")


def test_work_lands_on_the_branch_that_the_task_was_made_on(settings):
    """Unless a person names another one."""
    made = Settings(branch="topic")
    assert policy_of(settings(LANDED), made, "/srv").policy.land.into == "topic"
    assert policy_of(settings(LANDED), Settings(), "/srv").policy.land.into == ""


def test_a_task_made_where_no_branch_was_checked_out_asks_for_one(settings):
    """One from before branches were recorded takes the branch that its directory has."""
    for branch, asks in (("", True), (None, False), ("topic", False)):
        land = policy_of(settings(LANDED), Settings(branch=branch), "/srv").policy.land
        assert land.asks_branch is asks
    made = Settings(branch="")
    app = policy_of(settings(LANDED), made, "/srv/app").policy.land
    assert not app.asks_branch, "its project names one"


def test_a_fold_is_verified_by_the_commands_of_the_project_and_of_the_task(settings):
    """A task's own commands do not replace those of its project, as other tasks land with it."""
    own = Settings(verify=("make mine", "make test"))
    app = policy_of(settings(LANDED), own, "/srv/app").policy
    assert app.land.verify == ("make test", "make mine")
    assert app.land.own == ("make mine",)
    assert policy_of(settings(LANDED), own, "/srv/gate").policy.land.verify == ("make all",)


def test_a_compared_task_does_not_land_by_itself(settings):
    """A person picks one of the entries."""
    entry = Settings(work_in="clone", commit="a" * 40)
    assert policy_of(settings(LANDED), entry, "/srv/app").policy.land.mode == "branch"


@pytest.mark.parametrize("name", ["-x", "a..b", "a b", "x.lock", "a//b", "HEAD", "refs/.x", "a~1"])
def test_a_branch_has_a_name_that_git_takes(name):
    """Found when the setting is made, not when the first task is to land."""
    with pytest.raises(BadInput, match="no name of a branch"):
        runtime_toml.read_assignment(f"land_into={name}")
    assert runtime_toml.read_assignment("land_into=release/2.x") == ("land_into", "release/2.x")
    assert runtime_toml.read_assignment("land_into=@") == ("land_into", "@")
