"""Which spec a person means, and what is said of what is none."""

import pytest

from fleet.errors import BadInput, InvalidTask
from fleet.plan.find_spec import LARGEST, find_spec, read_proposed_plan
from tests.plans import DATA, sample
from tests.unit.plan.test_readers import SAMPLES


@pytest.mark.parametrize(("name", "format_"), SAMPLES.items())
def test_the_format_is_found_by_place_and_content(name, format_):
    assert find_spec(DATA / name, base=DATA).format == format_


def test_a_directory_of_several_specs_lists_them(tmp_path):
    """A person names the one that is meant."""
    for name in ("a", "b"):
        (tmp_path / f"specs/{name}").mkdir(parents=True)
        (tmp_path / f"specs/{name}/tasks.md").write_text("- [ ] T001 x\n")
    with pytest.raises(BadInput, match=r"(?s)2 specs:.*specs/a/tasks\.md\n.*specs/b/tasks\.md"):
        find_spec(tmp_path, base=tmp_path)


def test_names_do_not_depend_on_where_a_person_stands(tmp_path, monkeypatch):
    """They are in what agents are told, and so in the digest."""
    before = find_spec(DATA / "spec-kit", base=DATA)
    monkeypatch.chdir(tmp_path)
    assert find_spec(DATA / "spec-kit", base=DATA) == before
    assert sample("spec-kit").tasks[0].place.startswith("spec-kit/specs/")


@pytest.mark.parametrize(
    ("name", "data", "words"),
    [
        ("empty", None, "holds no spec that fleet knows"),
        ("a.md", b"# Only words\n", "has no check box"),
        ("a.md", b"- [ ] a\n\xff\n", r"a\.md:2: this is not UTF-8"),
        ("a.bin", b"\x00\x01", "not a text file"),
        ("a.json", b'{"a":\n oops}', r"a\.json:2: this is not JSON"),
        ("a.json", b'{"a": 1}', "no spec that fleet knows"),
        ("a.json", b"[1]", "no object"),
        ("a.json", b'{"a":' * 100_000, "nested too deeply|not JSON"),
        ("a.toml", b'format = "fleet.plan/1"\n[[task]\n', r"a\.toml:2: this is not TOML"),
        ("a.toml", b'format = "other"\n', "the format is 'other'"),
        ("a.toml", b'[[task]]\nkey = "a"\n[[task]]\nkind = "b"\n', r"a\.toml:3: .*`kind`"),
        ("a.toml", b"[[task]]\nkey = 1\n", r"a\.toml:1: Expected `str`"),
    ],
)  # fmt: skip
def test_what_is_no_spec_is_refused_with_its_place(tmp_path, name, data, words):
    file = tmp_path / name
    file.mkdir() if data is None else file.write_bytes(data)
    with pytest.raises(BadInput, match=words):
        sample(str(file))


def test_a_file_that_is_far_too_large_is_not_read(tmp_path):
    """50 MB of anything is no list of tasks."""
    file = tmp_path / "huge.md"
    with file.open("wb") as sparse:
        sparse.truncate(50 << 20)
    assert LARGEST < 50 << 20
    with pytest.raises(BadInput, match="has 50 MB"):
        sample(str(file))


def test_a_format_can_be_named(tmp_path):
    """For a file that lies elsewhere than its tool puts it."""
    file = tmp_path / "list.md"
    file.write_text("- [ ] 1 One\n- [ ] 2 Two\n")
    assert [task.after for task in sample(str(file), format_="openspec").tasks] == [(), ("1",)]
    with pytest.raises(BadInput, match="no format 'word'"):
        sample(str(file), format_="word")


def test_a_missing_file_is_said_to_be_missing(tmp_path):
    with pytest.raises(BadInput, match="there is no"):
        find_spec(tmp_path / "tasks.md", base=tmp_path)


@pytest.fixture
def plan(tmp_path):
    """Where an agent would leave its plan."""
    (tmp_path / "artifacts").mkdir()
    return tmp_path / "artifacts/PLAN.toml"


def test_a_plan_among_the_artifacts_is_read(plan, tmp_path):
    plan.write_text((DATA / "reset.toml").read_text())
    assert read_proposed_plan(tmp_path, limit=3).title == "Password reset"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (None, "there is no PLAN.toml"),
        ("", "there is no PLAN.toml"),
        ('title = "a"\n', "PLAN.toml holds no tasks"),
        ('[[task]]\nkey = "a"\ntitle = "b"\nbody = "c"\n', r"PLAN.toml:1: the plan has no title"),
        (
            'title = "a"\n[[task]]\nkey = "a"\ntitle = "b"\n',
            r"PLAN.toml:2: a: the task has no body",
        ),
        ("title = 'a\n", r"PLAN.toml:1: this is not TOML"),
        ("\n" + ".".join(["a"] * 50_000), r"PLAN.toml:2: it is nested too deeply"),
    ],
)
def test_a_plan_that_cannot_be_used_is_told_with_its_line(plan, tmp_path, text, words):
    """The agent is told the same words."""
    if text is not None:
        plan.write_text(text)
    with pytest.raises(BadInput, match=words):
        read_proposed_plan(tmp_path, limit=3)


def test_a_link_in_place_of_a_plan_is_not_followed(plan, tmp_path):
    """It could lead to a file of the operator's, whose lines errors would tell."""
    plan.symlink_to(DATA / "reset.toml")
    with pytest.raises(InvalidTask):
        read_proposed_plan(tmp_path, limit=3)
