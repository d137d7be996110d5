"""`make check` leaves no module unchecked whose types a change may have broken."""

from tests.docs.check_types import ROOT, digests, due, importers_in

ENVIRONMENT = {"pyproject.toml": "a", ".venv/ready": "a"}
FILES = {"src/fleet/a.py": "1", "src/fleet/b.py": "1", "src/fleet/c.py": "1"}
BEFORE = {**ENVIRONMENT, **FILES}
IMPORTERS = {"src/fleet/a.py": {"src/fleet/b.py"}, "src/fleet/c.py": {"src/fleet/b.py"}}


def test_nothing_is_checked_again_that_did_not_change():
    """A second run of `make check` has the answer of the first."""
    assert due(BEFORE, dict(BEFORE), lambda _: set()) == set()


def test_a_change_has_every_module_checked_that_imports_it():
    """A parameter that is renamed breaks its callers and not the module itself."""
    changed = {**BEFORE, "src/fleet/a.py": "2"}
    found = due(BEFORE, changed, lambda file: IMPORTERS.get(file, set()))
    assert found == {"src/fleet/a.py", "src/fleet/b.py"}


def test_a_new_module_other_settings_and_the_first_run_have_everything_checked():
    """What they change cannot be read from the imports."""
    for name in ENVIRONMENT:
        assert due(BEFORE, {**BEFORE, name: "b"}, lambda _: set()) is None
    assert due(BEFORE, {**BEFORE, "src/fleet/d.py": "1"}, lambda _: set()) is None
    fewer = {name: digest for name, digest in BEFORE.items() if name != "src/fleet/c.py"}
    assert due(BEFORE, fewer, lambda _: set()) is None
    assert due({}, BEFORE, lambda _: set()) is None


def test_importers_are_found_through_other_modules_and_inside_of_functions():
    """`__main__` imports the commands in functions, and `fleet.errors` through all of them."""
    importers = importers_in(ROOT)
    found = importers("src/fleet/errors.py")
    assert {"src/fleet/__main__.py", "src/fleet/schemas/task.py"} <= found
    assert "src/fleet/queue/sql/sqlite.py" in importers("src/fleet/schemas/__init__.py")
    known = digests(ROOT)
    assert found <= known.keys()
