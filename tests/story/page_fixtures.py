"""A home with its page in a browser, for the tests of a module; how tests name what is seen."""

import pytest

from tests.story.page_stage import WIDE, PageStage, chromium, watched
from tests.story.scene import PATIENCE


@pytest.fixture(scope="module")
def stage(tmp_path_factory):
    """One home and one server for all tests of this module: agents need seconds, a browser too."""
    stage = PageStage(tmp_path_factory.mktemp("page"))
    try:
        stage.play()
        yield stage
    finally:
        stage.close()


@pytest.fixture(scope="module")
def browser(stage):
    with chromium() as browser:
        yield browser


@pytest.fixture(scope="module")
def context(stage, browser, all_problems):
    """A browser with a session, in a tab that the first test goes on with."""
    context = browser.new_context(viewport=WIDE, locale="en-GB")
    page = watched(context.new_page(), all_problems)
    page.goto(stage.serve())
    page.locator(".row").first.wait_for()
    assert "once" not in page.url
    return context


@pytest.fixture(scope="module")
def all_problems():
    """What went wrong in the tab that the tests of a module share."""
    return []


@pytest.fixture
def problems(all_problems):
    """What went wrong in the browser: nothing, at the end of each test."""
    all_problems.clear()
    yield all_problems
    assert all_problems == []


@pytest.fixture
def page(stage, context, problems):
    """The view `now`, loaded anew in a tab that stays: a new tab is a new process of the browser,
    and would cost a second.
    """
    if context.pages:
        page = context.pages[0]
        page.evaluate("address => history.replaceState(null, '', address)", stage.view("now"))
        page.reload()
    else:
        page = watched(context.new_page(), problems)
        page.goto(stage.view("now"))
    page.set_viewport_size(WIDE)
    page.locator(".row").first.wait_for()
    yield page
    if not page.is_closed():
        page.unroute_all()


def expect(found):
    """What is to be seen of something in the page, sooner or later."""
    from playwright.sync_api import expect

    expect.set_options(timeout=1000 * PATIENCE)  # a busy machine makes nothing wrong
    return expect(found)


def row(page, task_id):
    return page.locator(f'[data-row="{task_id}"]')
