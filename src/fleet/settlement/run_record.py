"""All that is known of one run, for the supervisor that follows the run and for `fleet stop` alone.

The record stands below both, so that a run gets the same receipt, ending and entry in the day's
ledger whichever of the two ends it.
"""

import os
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Self

from msgspec import Struct, structs

from fleet import coders
from fleet.coders.agent_environment import run_env, secret_values
from fleet.coders.base import Coder, Options
from fleet.coders.stream.run_totals import RunTotals
from fleet.coders.stream.tool_calls import ToolCalls
from fleet.config import Config
from fleet.errors import FleetError, InvalidTask
from fleet.files import seals
from fleet.files.overwrite import overwrite
from fleet.home import Home
from fleet.home.task_policy import passed_variables
from fleet.processes.keeper_client import Ended, NeverStarted, Vanished
from fleet.runs.agent_claim import AgentClaim
from fleet.runs.cli_state.state_directory import followed_env
from fleet.runs.run_directory import RUN_JSON, Run, RunSpec
from fleet.schemas import Event, Failed, Outcome, Policy, Spend, Task
from fleet.schemas.budget import spend_of
from fleet.schemas.secret_mask import SecretMask
from fleet.settlement.run_stream import RunStream
from fleet.spending.prices import Prices

_LIST_PRICES = Prices()
#: Characters of an answer that are kept as the claim.
_ANSWER = 4000
#: Stands in for a `run.json` that cannot be read.
NO_SPEC = RunSpec(argv=(), cwd="")


class RunRecord:
    """One run: the directory, the spec, and the streams."""

    def __init__(
        self,
        task: Task,
        run: Run,
        coder: Coder,
        *,
        env: Mapping[str, str],
        spec: RunSpec = NO_SPEC,
        adopted: bool = False,
    ) -> None:
        self.task = task
        self.run = run
        self.coder = coder
        self.env = env
        self.spec = spec
        #: Another process began to follow the run, and may have written about it already.
        self.adopted = adopted
        #: The secrets that the agent was given, as far as this process knows them.
        self.mask = SecretMask(secret_values(coder, env))
        self.stream = RunStream(run, spec, coder, env, adopted=adopted, mask=self.mask.line)
        #: What tokens cost, where the CLI does not report a cost.
        self.prices = _LIST_PRICES
        #: Why the run could not even be tried; empty if it could.
        self.start_trouble = ""
        #: Why run.json is not believed; empty if it is.
        self.doubt = ""

    @classmethod
    def read(cls, home: Home, config: Config, task: Task, run: Run) -> Self:
        """The record of a run that another process started, read from the directory.

        The run is read with what it was started with, whatever the settings say by now. Its secret
        is with its agent only.
        """
        spec, doubt = NO_SPEC, ""
        env: Mapping[str, str] = {}
        try:
            if doubt := run.spec_doubt():
                raise InvalidTask(doubt)  # nothing that such a record says is done
            spec = run.spec()
            coder = coders.make(
                spec.coder, spec.model, Options(permissions=config.permissions), home.path
            )
            passes = passed_variables(config, spec.cwd)
            env = run_env(own_env(), home, coder, task, spec.login, passes)
            env = followed_env(run, coder.state_variable, env)
        except FleetError as error:
            coder = UnknownCoder(error.message)
        record = cls(task, run, coder, env=env, spec=spec, adopted=True)
        record.doubt = "" if seals.is_excused(run.path / RUN_JSON) else doubt
        return record

    def hide_kept_secrets(self) -> None:
        """Make the secrets unreadable in what the run printed, after the run."""
        if self.mask.met:
            overwrite(self.run.stdout, self.mask.values)
        overwrite(self.run.stderr, self.mask.values)

    @property
    def task_id(self) -> str:
        return self.task.id

    @property
    def totals(self) -> RunTotals:
        return self.stream.totals

    @property
    def tools(self) -> ToolCalls:
        return self.stream.totals.tools

    @property
    def policy(self) -> Policy:
        """The rules that the run is held to, whatever the settings say by now."""
        return self.spec.policy

    @property
    def account(self) -> str:
        """The login or key that the run works with."""
        return self.spec.account or self.coder.name

    @property
    def project(self) -> str:
        """The directory that the task was made for, and not a clone of fleet's."""
        return self.task.cwd or self.spec.cwd

    @property
    def trouble(self) -> str:
        """Why the run could not be tried, or a stream cannot be read; empty otherwise."""
        return self.stream.trouble or self.start_trouble

    @property
    def estimated_usd(self) -> float | None:
        """The cost so far by tokens; None if the CLI reported a cost, or there is no price."""
        totals = self.totals
        if totals.tokens.cost_usd is not None:
            return None
        return self.prices.estimate(totals.tokens.usage, totals.model or self.coder.model)

    @property
    def spend(self) -> Spend:
        """What the run used so far."""
        totals = self.totals
        if totals.tokens.cost_usd is None and not totals.tokens.usage.total:
            return Spend(runs=1)  # the CLI has not reported anything yet
        reported = totals.tokens.cost_usd
        return spend_of(
            tokens=totals.tokens.usage.total, reported=reported, estimated=self.estimated_usd
        )


class UnknownCoder(Coder):
    """Stands in where a run's own coder is gone: no line is read, and no success is believed."""

    name = "unread"
    context_limit = 1

    def __init__(self, why: str) -> None:
        super().__init__("")
        self._why = why

    def build_argv(self, task: Task, task_dir: Path) -> list[str]:
        raise NotImplementedError(self._why)

    def normalize_event(self, raw_line: str) -> Event | None:
        del raw_line
        return None

    def outcome(
        self, totals: RunTotals, exit_code: int | None, signal: int | None, *, stderr: str = ""
    ) -> Outcome:
        del totals, exit_code, signal, stderr
        return Failed(reason="unknown", detail=self._why)


#: How the processes of a run ended.
ProcessEnd = Ended | Vanished | NeverStarted


class ExitedRun(Struct, frozen=True, kw_only=True):
    """A run of which nothing lives any more. All that it printed has been read."""

    record: RunRecord
    process_end: ProcessEnd
    #: Why fleet stopped the run; None: fleet did not.
    stop_reason: Outcome | None = None
    #: The tools that were at work when fleet stopped the run.
    cut_off: tuple[str, ...] = ()
    #: What the agent claimed, as it was said.
    said: AgentClaim = AgentClaim()

    @property
    def started(self) -> bool:
        """The agent's process existed."""
        return not isinstance(self.process_end, NeverStarted)

    @property
    def open_calls(self) -> tuple[str, ...]:
        """The tools that were at work at the end, for people."""
        return self.cut_off or self.record.tools.at_work

    @property
    def ended_by_itself(self) -> bool:
        """The agent had ended before a stop was asked for."""
        return isinstance(self.process_end, Ended) and self.process_end.exit.stop is None

    @property
    def program_missing(self) -> bool:
        """The coder's program is not there to be run."""
        end = self.process_end
        return isinstance(end, Ended) and bool(end.exit.error and end.exit.error.is_program)

    @property
    def claim(self) -> AgentClaim:
        """What the agent claimed of the task, without secrets. Where an answer is wanted, its last
        words are the claim of an agent that ended well and did not close its task.
        """
        said, mask = self.said, self.record.mask.text
        if said.done is None and said.blocked is None and self._answered:
            said = structs.replace(said, done=self.record.totals.text.strip()[:_ANSWER])
        done, blocked = said.done and mask(said.done), said.blocked and mask(said.blocked)
        return structs.replace(said, done=done, blocked=blocked)

    @property
    def _answered(self) -> bool:
        record, end = self.record, self.process_end
        wanted = record.policy.expect == "answer" and bool(record.totals.text.strip())
        well = isinstance(end, Ended) and end.exit.code == 0 and record.totals.terminal != "error"
        return wanted and well and self.ended_by_itself


@cache
def own_env() -> Mapping[str, str]:
    """The environment of this process, decoded once, since it never changes."""
    return dict(os.environ)
