"""`fleet account`: add, log in, check, pause, resume and remove accounts."""

from pathlib import Path

import click

from fleet import control
from fleet.cli.json_output import print_json
from fleet.cli.setup.accounts import show
from fleet.cli.task_ids import account_names, coder_names
from fleet.cli.terminal_text import painted, print_line
from fleet.control import account
from fleet.control.accounts import on_account
from fleet.schemas.shown_text import counted, one_line


@click.group("account")
def command() -> None:
    """Keep several logins or keys of a coder, and let fleet spread the work over them."""


@command.command("add")
@click.argument("name")
@click.option(
    "--coder",
    required=True,
    help="The coder that it is a login or key of.",
    shell_complete=coder_names,
)
@click.option("--dir", "directory", metavar="DIR", help="Where its CLI keeps its state.")
@click.option(
    "--secret",
    metavar="WHERE",
    help="Where its token or key is: env:NAME, file:/PATH (mode 0600), keyring:SERVICE/USER.",
)
@click.option("--variable", metavar="NAME", help="The variable that hands it to the CLI.")
@click.option("--weight", type=int, help="Its share of the work; 0: only where a chain names it.")
@click.option("--max", "max_concurrent", type=int, help="How many agents it serves at once.")
@click.option("--stop-at", type=int, metavar="PERCENT", help="Keep the rest of each window.")
@click.option("--day-budget", metavar="AMOUNT", help="What may be spent on it in a day.")
@click.option("--only", is_flag=True, help="Take your own login of this coder out of use.")
def add(name: str, directory: str | None, only: bool, **settings: str | int | None) -> None:
    """Declare an account; your own login of the coder, if there is one, stays in use beside it.

    The account's directory is made in the fleet home unless you name one. No secret is ever written
    to runtime.toml: only where it is.
    """
    fleet = control.opened()
    place = str(Path(directory).expanduser().absolute()) if directory else None
    done = account.add(fleet, name, {**settings, "directory": place}, only=only)
    added = done.account
    print_line(f"Account {name} of {added.coder} is declared in {fleet.home.config}")
    if done.keeps_own:
        way = f"fleet account pause {added.coder}"
        print_line(f"Your own login stays in use, as account {added.coder}; to rest it: {way}")
    if added.directory:
        print_line(f"Its state: {added.directory}")
    if not added.secret:
        print_line(f"Now log in: fleet account login {name}")
    else:
        print_line(f"To see whether it works: fleet account check {name}")


@command.command("list")
@click.option("--json", "as_json", is_flag=True, help="A JSON array with all that is known.")
def list_(as_json: bool) -> None:
    """Show the accounts; the same as `fleet accounts`."""
    show(as_json)


@command.command("login")
@click.argument("name", shell_complete=account_names)
def login(name: str) -> int:
    """Log in with the coder's own program, into this account's directory.

    Once that went well the account gets work again, whatever was held against its login before.
    """
    code = account.login(control.opened(), name)
    if code == 0:
        print_line(f"To see whether it works: fleet account check {name}")
    return code


@command.command("check")
@click.argument("names", nargs=-1, metavar="[NAME...]", shell_complete=account_names)
@click.option("--json", "as_json", is_flag=True, help="A JSON array.")
def check(names: tuple[str, ...], as_json: bool) -> int:
    """See whether accounts can be used, without spending a token.

    Files and secrets are looked at, and the CLI is asked whether it is logged in. Exit code: 0 all
    can be used, 1 some cannot.
    """
    found = account.check(control.opened(), names)
    if as_json:
        print_json(found)
    else:
        width = max(len(each.name) for each in found)
        for each in found:
            mark = painted("✗", "red") if each.problem else painted("✓", "green")
            words = one_line(each.problem or each.said or "nothing speaks against it")
            print_line(f"{mark} {each.name:<{width}}  {each.coder}: {words}")
    return 1 if any(each.problem for each in found) else 0


@command.command("pause")
@click.argument("name", shell_complete=account_names)
def pause(name: str) -> None:
    """Give an account no new work; what runs on it goes on."""
    fleet = control.opened()
    changed = account.pause(fleet, name)
    print_line(f"{name} gets no new work." if changed else f"{name} was paused already.")


@command.command("resume")
@click.argument("name", shell_complete=account_names)
def resume(name: str) -> None:
    """Give an account work again, whatever was known of its limits."""
    woken = account.resume(control.opened(), name)
    if woken is None:
        print_line(f"{name} was open already.")
    else:
        tasks = counted(len(woken), "task") if woken else "no task"
        print_line(f"{name} gets work again; {tasks} waited for it.")


@command.command("remove")
@click.argument("name", shell_complete=account_names)
def remove(name: str) -> None:
    """Forget an account. Its directory, with its login, stays where it is."""
    fleet = control.opened()
    removed = account.remove(fleet, name)
    print_line(f"{name} is forgotten.")
    if tasks := on_account(fleet, name):
        print_line(f"What runs on it goes on: {', '.join(tasks)}")
    if removed.directory:
        what = "state" if removed.secret else "login"
        print_line(f"Its {what} is still in {removed.directory}")
