"""Where a pattern says that a run may work."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from fleet.config import Config, Project
from fleet.git.path_patterns import PathPatterns
from fleet.home.task_policy import policy_of
from fleet.schemas import Settings


@pytest.mark.parametrize(
    ("patterns", "inside", "path", "expected"),
    [
        ((), ".", "anything/at/all", True),
        ((), "app", "app/x", True),
        ((), "app", "app2/x", False),
        ((), "app", "README", False),
        (("src/**",), ".", "src/a/b.py", True),
        (("src/**",), ".", "src", False),
        (("src/**",), ".", "lib/src/a", False),
        (("src",), ".", "src/a/b.py", True),
        (("src/",), ".", "src/a", True),
        (("*.md",), ".", "docs/deep/x.md", True),
        (("*.md",), ".", "docs/x.mdx", False),
        (("*.md",), "app", "README.md", False),
        (("*.md",), "app", "app/docs/README.md", True),
        (("docs/*.md",), ".", "docs/x.md", True),
        (("docs/*.md",), ".", "docs/deep/x.md", False),
        (("docs/**/*.md",), ".", "docs/x.md", True),
        (("docs/**/*.md",), ".", "docs/a/b/x.md", True),
        (("/docs/**",), "app", "docs/x", True),
        (("/docs/**",), "app", "app/docs/x", False),
        (("../lib/**",), "app", "lib/x", True),
        (("./src/**",), ".", "src/x", True),
        (("**",), "app", "app/x", True),
        (("**",), "app", "x", False),
        (("**/test_*.py",), ".", "test_x.py", True),
        (("src/**", "!src/secret"), ".", "src/secret/key", False),
        (("src/**", "!src/secret", "src/secret/ok"), ".", "src/secret/ok", True),
        (("src/file[0-9].py",), ".", "src/file7.py", True),
        (("src/file[!0-9].py",), ".", "src/file7.py", False),
        (("src/?.py",), ".", "src/a.py", True),
        (("src/?.py",), ".", "src//.py", False),
        (("a+b(c)/**",), ".", "a+b(c)/x", True),
        (("src/**",), ".", "src/line\nend", True),
        (("src/[unclosed",), ".", "src/[unclosed", True),
        (("src/[z-a]",), ".", "src/[z-a]", True),
        (("*.md",), "app/[id]", "app/[id]/x.md", True),
        (("*.md",), "app/[id]", "app/i/x.md", False),
        ((), "app/[id]", "app/[id]/x", True),
        (("\\#notes",), ".", "#notes", True),
    ],
)
def test_patterns_are_read_as_in_a_gitignore(patterns, inside, path, expected):
    """Each line of the table is one fact."""
    assert PathPatterns(patterns, inside).match(path) is expected


@given(st.text(max_size=30), st.text(max_size=30))
def test_no_pattern_and_no_path_breaks_it(pattern, path):
    """Both come from outside."""
    PathPatterns((pattern,), "app").match(path)


def test_a_projects_patterns_hold_from_the_projects_directory_on():
    """Also for a task that runs further down."""
    project = Project(path="/srv/app", scope=("src/**", "*.md", "/docs", "!src/x"))
    config = structs.replace(Config(), projects={"/srv/app": project})
    scope = policy_of(config, Settings(), "/srv/app/src/deep").policy.scope
    allowed = PathPatterns(scope, "src/deep")
    wanted = ("src/a", "src/deep/b", "README.md", "src/deep/c.md", "docs/d")
    assert [path for path in wanted if not allowed.match(path)] == []
    assert not allowed.match("src/x/y")
    assert not allowed.match("lib/a")
    assert policy_of(config, Settings(), "/srv/app").policy.scope == project.scope
