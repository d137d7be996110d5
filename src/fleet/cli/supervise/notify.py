"""`fleet notify`: tell people what needs them, where they are."""

import sys
from collections.abc import Callable
from datetime import UTC, datetime

import click

from fleet import control
from fleet.cli.json_output import print_json
from fleet.cli.terminal_text import print_line
from fleet.errors import BadInput, ConfigError
from fleet.schemas.shown_text import duration, one_line

_EXAMPLE = '[notify] with command = ["…"], to = ["…"], [notify.telegram] or [notify.ntfy]'


@click.group("notify", invoke_without_command=True)
@click.pass_context
def command(ctx: click.Context) -> None:
    """Tell people what needs them, where they are, and take their answers.

    `fleet run` does this by itself where [notify] in runtime.toml names a channel: apprise's
    addresses, a Telegram bot, an ntfy topic, or a command of yours.
    """
    if ctx.invoked_subcommand is None:
        ctx.invoke(status)


@command.command("run")
@click.option("--quiet", "-q", is_flag=True, help="Say nothing but errors.")
def run(quiet: bool) -> int:
    """Tell and listen, until Ctrl-C. `fleet run` starts this by itself."""
    from fleet.cli.supervise.side_run import run_beside
    from fleet.control.supervise.side_process import NOTIFIER
    from fleet.notify.connect_channels import connect_channels
    from fleet.notify.notifier import Notifier

    fleet = _with_channels()

    def work(stop: Callable[[], bool], say: Callable[[str], None]) -> None:
        connected = connect_channels(fleet.config.notify)
        for problem in connected.problems:
            print_line(f"Not used: {one_line(problem)}", err=True)
        names = ", ".join(channel.name for channel in connected.channels)
        say(f"telling through {names or 'no channel'}")
        Notifier(fleet, connected, say).run(stop)

    return run_beside(fleet, NOTIFIER, work, quiet=quiet)


@command.command("test")
def test() -> int:
    """Send one message through each channel, now.

    Exit code: 0 every channel took it, 1 one did not.
    """
    from fleet.control.notify.telling_rules import Notification
    from fleet.notify.channels.channel_protocol import NotSent
    from fleet.notify.connect_channels import connect_channels

    connected = connect_channels(_with_channels().config.notify)
    failed = len(connected.problems)
    for problem in connected.problems:
        print_line(f"✗ {one_line(problem)}")
    now = datetime.now(UTC)
    message = Notification(
        key=f"test-{now:%s}", at=now, topic="test", subject="fleet can reach you",
        text="This is what `fleet notify test` sends.",
    )  # fmt: skip
    for channel in connected.channels:
        done = channel.send(message)
        if isinstance(done, NotSent):
            failed += 1
            print_line(f"✗ {channel.name}: {one_line(done.problem)}")
        else:
            print_line(f"✓ {channel.name}")
    return 1 if failed else 0


@command.command("status")
@click.option("--json", "as_json", is_flag=True, help="The same as a JSON object.")
def status(as_json: bool) -> int:
    """Say whether a notifier runs, and how each channel does.

    Exit code: 0 all is well, 1 something is not told.
    """
    from fleet.control.notify.notify_status import notify_status

    found = notify_status(control.opened())
    stuck = any(each.problem or each.dropped for each in found.channels)
    if as_json:
        print_json(found)
        return 1 if stuck else 0
    if not found.on:
        print_line(f"No channel is set. To be told: {_EXAMPLE} in runtime.toml")
        return 0
    print_line(f"notifier: {'running' if found.running else 'not running (fleet run starts it)'}")
    now = datetime.now(UTC)
    for each in found.channels:
        oldest = duration((now - each.oldest).total_seconds()) if each.oldest else ""
        waits = f"{each.waiting} wait, the oldest for {oldest}" if each.waiting else "nothing waits"
        lost = f", {each.dropped} given up" if each.dropped else ""
        print_line(f"{each.channel}: {waits}{lost}")
        if each.problem:
            print_line(f"    {one_line(each.problem)}", 4)
    if found.later_at is not None:
        when = f"{found.later_at.astimezone():%a %H:%M}"
        print_line(f"later, for quiet hours or the digest: {found.later}, the first on {when}")
    return 1 if stuck else 0


@command.command("pair")
@click.argument("channel", type=click.Choice(["telegram"]))
@click.option("--yes", is_flag=True, help="Do not ask.")
def pair(channel: str, yes: bool) -> int:
    """Let a person be told by your Telegram bot, and answer there.

    The person sends the bot a code that this prints, within ten minutes.
    """
    del channel
    from fleet.control.notify.channel_settings import add_telegram_user
    from fleet.notify.pair_telegram import pair_telegram

    fleet = control.opened()
    settings = fleet.config.notify.telegram
    if settings is None:
        raise ConfigError(
            "there is no [notify.telegram] in runtime.toml",
            hint='Make a bot with @BotFather, then: token = "keyring:fleet/telegram" there',
        )
    if not yes and not sys.stdin.isatty():
        raise BadInput("there is no terminal to ask on", hint="To go on without a question: --yes")

    def show(bot: str, code: str) -> None:
        print_line(f"Open https://t.me/{bot}?start={code} or send @{bot}: /start {code}")

    found = pair_telegram(fleet.home, settings, show)
    who = f"{one_line(found.name)} (user {found.user})"
    if not yes and not click.confirm(f"{who} sent the code. Tell this person, and take answers?"):
        return 1
    add_telegram_user(fleet, found.user)
    print_line(f"Paired with {who}. To try it: fleet notify test")
    return 0


def _with_channels() -> control.Control:
    fleet = control.opened()
    if not fleet.config.notify.is_on:
        raise ConfigError("no channel is set", hint=f"In runtime.toml: {_EXAMPLE}")
    return fleet
