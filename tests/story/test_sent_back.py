"""Work that cannot land goes back to its task: the merge is begun, the agent finishes it."""

import pytest

from fleet.cli.run.run import NEEDS_YOU
from fleet.home import landing_json
from fleet.runs import receipt_json
from tests.conftest import need, only_slow
from tests.repos import ENV, Repo
from tests.story.scene import Scene

#: Green while no two of the files `part-*` hold the same word, and no file holds a marker.
VERIFY = 'test -z "$(cat part-* 2>/dev/null | sort | uniq -d)"'
#: For a script: the merge is begun here.
MERGING = "test -e .git/MERGE_HEAD"
COMMIT = "git add -A; git commit -q --no-edit -m own 2>/dev/null || git commit -q --no-edit"


@pytest.fixture
def scene(tmp_path):
    need("git")
    # A run that counts blocks its task: what is sent back does not count.
    scene = Scene(tmp_path, max_concurrent=2, retry_limit=1, land="auto")
    scene.env = {**scene.env, **ENV, "PATH": scene.env["PATH"]}
    scene.repo = Repo(scene.project)
    scene.repo.git("config", "user.name", "Ada")
    scene.repo.commit(README="one\ntwo\nthree\n")
    yield scene
    scene.close()


def add(scene, script, steps, **wishes):
    """A task whose agent runs a script in its clone and claims to be done."""
    task_id = scene.add(steps, **{"branch": "main", "verify": (VERIFY,), **wishes})
    scene.folder(task_id).mkdir(exist_ok=True)
    names = [f"GIT_{who}_{what}=a" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")]
    (scene.folder(task_id) / "script").write_text(f"export {' '.join(names)}\n{script}\n")
    return task_id


def pair(scene, script, then="tool script done end"):
    """A task that lands, and one that conflicts with it: both begin before either lands."""
    first = add(scene, f"printf 'one\\nFIRST\\nthree\\n' > README; {COMMIT}", title="The first one",
                steps="tool script await:go done end")  # fmt: skip
    steps = f"tool script mark:began await:landed done end | {then}"
    second = add(scene, script, steps=steps, title="The second one")
    return first, second


def play(scene, first, second, *flags):
    """Run both, the first one to its landing."""
    supervisor = scene.supervise("--until-idle", *flags)
    scene.until_marked(second, "began")
    (scene.folder(first) / "go").touch()
    scene.until_status(first, "closed")
    (scene.folder(second) / "landed").touch()
    return supervisor


def text(scene, path="README"):
    return scene.repo.git("show", f"main:{path}")


def test_a_conflict_goes_back_to_its_task_and_lands(scene):
    """The same clone, with the merge begun; the prompt says what landed; no attempt is counted."""
    resolve = f"printf 'one\\nFIRST and SECOND\\nthree\\n' > README; {COMMIT}"
    own = f"printf 'one\\nSECOND\\nthree\\n' > README; {COMMIT}"
    first, second = pair(scene, f"if {MERGING}; then {resolve}; else {own}; fi")
    assert play(scene, first, second).wait(60) == 0, scene.screen()
    assert scene.status(second) == "closed", (scene.task(second).notes, scene.screen())
    assert text(scene) == "one\nFIRST and SECOND\nthree"
    _, again = scene.runs(second)
    prompt = (again.path / "prompt.md").read_text()
    for words in ("could not land on `main`", "`README`", f"- {first}: The first one", "+FIRST"):
        assert words in prompt
    assert again.spec().base.merge.files == ("README",)
    landing = landing_json.believed(scene.home, second)
    assert (landing.state, landing.tries) == ("landed", 1)
    assert "sent back to its agent (try 1)" in scene.task(second).notes
    # What lands is the merge that the agent made, and the candidate is a part of the branch.
    scene.repo.git("merge-base", "--is-ancestor", landing.commit, "main")


def test_a_conflict_in_meaning_goes_back_with_what_the_checks_printed(scene):
    """Each is green alone, both together are not: the line is merged, and the agent mends it."""
    mend = "if test -e part-1; then echo other > part-2; else echo word > part-2; fi"
    first = add(scene, f"echo word > part-1; {COMMIT}", steps="tool script await:go done end",
                verify=(f"{VERIFY} || {{ echo a word stands twice; false; }}",))  # fmt: skip
    second = add(
        scene, f"{mend}; {COMMIT}",
        steps="tool script mark:began await:landed done end | tool script done end",
        verify=(f"{VERIFY} || {{ echo a word stands twice; false; }}",),
    )  # fmt: skip
    assert play(scene, first, second).wait(60) == 0, scene.screen()
    assert scene.status(second) == "closed", (scene.task(second).notes, scene.screen())
    assert (text(scene, "part-1"), text(scene, "part-2")) == ("word", "other")
    prompt = (scene.runs(second)[1].path / "prompt.md").read_text()
    assert "a word stands twice" in prompt
    assert "Files that others changed since: `part-1`" in prompt


@only_slow
def test_a_claim_that_loses_what_others_landed_is_refused_and_a_person_is_asked_in_the_end(scene):
    """`git checkout --ours` is no merge: not counted as an attempt, but as a try to land."""
    own = f"printf 'one\\nSECOND\\nthree\\n' > README; {COMMIT} || true"
    cheat = "git checkout -q --ours README; git rm -qf extra; git add -A; git commit -q --no-edit"
    first, second = pair(scene, f"if {MERGING}; then {cheat}; else {own}; fi")
    script = scene.folder(first) / "script"
    script.write_text(script.read_text().replace("git add", "echo a landed line > extra; git add"))
    assert play(scene, first, second).wait(60) == NEEDS_YOU, scene.screen()
    task, landing = scene.task(second), landing_json.believed(scene.home, second)
    assert (task.status, landing.state, landing.why_back) == ("blocked", "asks", "rules")
    assert "lost_landed_work: work that others landed is gone: extra" in landing.refused
    assert f"{first} (The first one)" in landing.why
    assert len(scene.runs(second)) == 3
    assert [each.rule for each in receipt_json.read(scene.runs(second)[1]).verdict.findings] == [
        "lost_landed_work"
    ]
    assert "Your last claim was refused" in (scene.runs(second)[2].path / "prompt.md").read_text()
    assert text(scene, "extra") == "a landed line"
    # A person opens it again: the tries begin anew, and the agent mends the merge.
    script = scene.folder(second) / "script"
    both = "printf 'one\\nFIRST and SECOND\\nthree\\n' > README; git checkout -q main -- extra"
    mend = f"{both}; {COMMIT}"
    script.write_text(f"{script.read_text().splitlines()[0]}\n{mend}\n")
    assert scene.fleet("retry", second).returncode == 0
    assert scene.supervise("--until-idle").wait(60) == 0, scene.screen()
    assert scene.status(second) == "closed", scene.screen()
    assert (text(scene, "extra"), "SECOND" in text(scene)) == ("a landed line", True)


def test_an_agent_that_gives_the_merge_up_asks_as_always(scene):
    """The question waits for a person; the lander does not open the task again."""
    own = f"printf 'one\\nSECOND\\nthree\\n' > README; {COMMIT}"
    first, second = pair(scene, own, then="tool ask:which-of-both? end")
    assert play(scene, first, second).wait(60) == NEEDS_YOU, scene.screen()
    task = scene.task(second)
    assert (task.status, "which-of-both?" in task.notes) == ("blocked", True)
    assert len(scene.runs(second)) == 2
    assert landing_json.believed(scene.home, second).merge.ready
