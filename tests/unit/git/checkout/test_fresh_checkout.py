"""Fresh checkouts: how they go."""

import threading

from fleet.git.checkout.fresh_checkout import remove_tree, throw_away


def test_a_checkout_that_is_thrown_away_is_gone_at_once_and_its_files_soon(tmp_path):
    """With what a killed process left behind, and directories that a program made unwritable."""
    place, bin_ = tmp_path / "tree", tmp_path / "removed"
    for root in (place, bin_ / "left"):
        (root / "folder").mkdir(parents=True)
        (root / "folder/file").write_text("1\n")
        (root / "folder").chmod(0o500)
    throw_away(place, bin_)
    assert not place.exists()
    for thread in threading.enumerate():
        if thread.name == "checkouts":
            thread.join(10)
    assert list(bin_.iterdir()) == []


def test_a_tree_of_any_depth_is_removed(a_deep_tree):
    """`rmtree` calls itself for each directory, and an agent can dig deeper than that goes."""
    remove_tree(a_deep_tree)
    assert not a_deep_tree.exists()
