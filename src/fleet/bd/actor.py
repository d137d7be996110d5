"""The name that a change is recorded under, found in the way of bd."""

from collections.abc import Mapping
from pathlib import Path


def actor(env: Mapping[str, str], cwd: Path | None = None) -> str:
    """$BEADS_ACTOR, $BD_ACTOR, git's user.name, $USER, in this order. `cwd` is the directory whose
    repository may name the user.
    """
    return (
        env.get("BEADS_ACTOR")
        or env.get("BD_ACTOR")
        or env.get("GIT_AUTHOR_NAME")
        or _git(env, cwd, "name")
        or env.get("USER")
        or "unknown"
    )


def owner(env: Mapping[str, str], cwd: Path | None = None) -> str:
    """The mail address to record as the owner of a new task; empty if git has none."""
    return env.get("GIT_AUTHOR_EMAIL") or _git(env, cwd, "email")


def _git(env: Mapping[str, str], cwd: Path | None, key: str) -> str:
    """One value of git's configuration, the repository's first, read without starting git."""
    home = env.get("HOME", "")
    places = [] if cwd is None else _of_repository(cwd)
    places += [Path(env["GIT_CONFIG_GLOBAL"])] if "GIT_CONFIG_GLOBAL" in env else []
    if home:
        xdg = Path(env.get("XDG_CONFIG_HOME") or Path(home, ".config"))
        places += [Path(home, ".gitconfig"), xdg / "git" / "config"]
    for place in places:
        found = _user_section(place).get(key, "")
        if found:
            return found.strip('"')
    return ""


def _of_repository(cwd: Path) -> list[Path]:
    from fleet.git import repository  # for commands that change something

    found = repository.find(str(cwd))
    return [] if found is None else [Path(found.common_dir, "config")]


def _user_section(place: Path) -> Mapping[str, str]:
    import configparser  # for commands that change something

    parser = configparser.ConfigParser(strict=False, allow_no_value=True, interpolation=None)
    try:
        text = place.read_text(encoding="utf-8", errors="replace")
        parser.read_string("\n".join(line.strip() for line in text.splitlines()))
    except (OSError, configparser.Error):
        return {}  # a git configuration that cannot be read holds no name
    return dict(parser["user"]) if parser.has_section("user") else {}
