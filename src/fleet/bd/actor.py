"""The name that a change is recorded under, found in the way of bd."""

from collections.abc import Mapping
from pathlib import Path


def actor(env: Mapping[str, str]) -> str:
    """$BEADS_ACTOR, $BD_ACTOR, git's user.name, $USER, in this order."""
    return (
        env.get("BEADS_ACTOR")
        or env.get("BD_ACTOR")
        or env.get("GIT_AUTHOR_NAME")
        or _git(env, "name")
        or env.get("USER")
        or "unknown"
    )


def owner(env: Mapping[str, str]) -> str:
    """The mail address to record as the owner of a new task; empty if git has none."""
    return env.get("GIT_AUTHOR_EMAIL") or _git(env, "email")


def _git(env: Mapping[str, str], key: str) -> str:
    """One value of the user's own git configuration, read without starting git."""
    home = env.get("HOME", "")
    places = [Path(env["GIT_CONFIG_GLOBAL"])] if "GIT_CONFIG_GLOBAL" in env else []
    if home:
        xdg = Path(env.get("XDG_CONFIG_HOME") or Path(home, ".config"))
        places += [Path(home, ".gitconfig"), xdg / "git" / "config"]
    for place in places:
        found = _user_section(place).get(key, "")
        if found:
            return found.strip('"')
    return ""


def _user_section(place: Path) -> Mapping[str, str]:
    import configparser  # for commands that change something

    parser = configparser.ConfigParser(strict=False, allow_no_value=True, interpolation=None)
    try:
        text = place.read_text(encoding="utf-8", errors="replace")
        parser.read_string("\n".join(line.strip() for line in text.splitlines()))
    except (OSError, configparser.Error):
        return {}  # a git configuration that cannot be read holds no name
    return dict(parser["user"]) if parser.has_section("user") else {}
