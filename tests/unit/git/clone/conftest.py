"""What the tests of clones share."""

import pytest


@pytest.fixture
def repo(repo):
    """A project with a commit."""
    repo.first = repo.commit(app__main_dot_py="print()\n", _dot_gitignore="*.o\n")
    return repo
