"""An app that has a session to command: the keys that change what the session does, and the way out."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from textual.reactive import reactive

from ..envs import PacError
from ..training.config import RUNS
from ..training.exits import DONE, FAILED, INTERRUPTED
from ..training.telemetry.records import Phase
from ..training.telemetry.snapshot import Snapshot
from ..training.units import STEPPED, Units, plural
from .connection import SessionConnection
from .dialogs.dialog import Dialog
from .dialogs.leave import Choice, LeaveDialog
from .dialogs.prompt import Prompt
from .drawing.styles import FAINT, ORANGE, TEXT, YELLOW, Row, styled
from .messages import Refused
from .refresh import RefreshScheduler
from .restart import DEBOUNCE, PendingRestart
from .terminal_app import TerminalApp
from .threads import CommandThread, SnapshotThread

if TYPE_CHECKING:
    from ..training.runs.overview import RunOverview

ENDING = {Phase.STOPPING, Phase.ENDED, Phase.FAILED}


class CommandedApp(TerminalApp):
    """Turns keys into commands; what the session makes of them shows in the next snapshot.

    Attributes:
        snapshot: The newest look at the session; None before the first.
        env: The environment that is looked at or selected, from 0.
        lost: Why there is no session any more, if it went without a word.
        stops: How often a stop was asked for.
        interrupted: Whether it was by Ctrl-C.
        wanted: The run to go to from here, if one was chosen.
        asked: Whether it was asked to pause, or not to, until its phase changes: an update of the policy comes first.
    """

    snapshot: reactive[Snapshot | None] = reactive(None, always_update=True, repaint=False)

    def __init__(self, connection: SessionConnection) -> None:
        super().__init__()
        self.env = 0
        self.lost: PacError | None = None
        self.stops = 0
        self.interrupted = False
        self.wanted: RunOverview | None = None
        self.asked: bool | None = None
        self.connection = connection
        self.scheduler = RefreshScheduler()
        self.pending = PendingRestart()
        self._commands = CommandThread(connection, self.post_message)
        self._snapshots = SnapshotThread(connection, self.post_message)

    def command(self, name: str, **arguments: object) -> None:
        """Send a command, unless there is nobody to hear it."""
        if self.lost is None:
            self._commands.send(name, **arguments)

    def on_refused(self, message: Refused) -> None:
        """Say why a command was not carried out, where that was asked for."""
        if isinstance(self.screen, Dialog) and message.command in self.screen.SENDS:
            self.screen.refused(message.command, str(message.error))
            return
        refused_stop = message.command == "stop" and not self.connection.ours
        if refused_stop:
            self.stops = 0
        self.asked = None
        if message.command != "look" and not self.stops:
            self.notify(str(message.error), title=message.error.title, severity="warning")

    @property
    def phase(self) -> Phase:
        """What the session does."""
        if self.lost is not None:
            return Phase.FAILED
        return self.snapshot.phase if self.snapshot is not None else Phase.STARTING

    @property
    def num_envs(self) -> int:
        """Number of environments that run, or are about to."""
        if self.snapshot is None:
            return 1
        restarting = self.snapshot.phase is Phase.RESTARTING
        return int(self.snapshot.state["target_envs"]) if restarting else self.snapshot.num_envs

    @property
    def units(self) -> Units:
        """What the session's trainer calls what it counts."""
        return self.snapshot.description.units if self.snapshot is not None else STEPPED

    # -- playing ------------------------------------------------------------------------------------------------------

    def action_pause(self) -> None:
        """Pause, or resume; once more, the other."""
        before = self.phase is Phase.PAUSED if self.asked is None else self.asked
        self.asked = not before
        self.command("pause" if self.asked else "resume")
        self.announce()

    def action_step(self) -> None:
        """One step of all environments."""
        self.command("step", count=1)

    def action_ask_steps(self) -> None:
        """Type a number of steps."""
        units = self.units
        self._ask(
            f"{plural(units.step)} of every {units.environment}:", lambda count: self.command("step", count=count)
        )

    def action_episode(self) -> None:
        """Run to the end of the shown environment's episode."""
        self.command("episode", env=self.env)

    def action_speed(self, factor: float) -> None:
        """Change the speed limit; without one, the speed of now is where it begins."""
        if self.snapshot is None:
            return
        limit, running = float(self.snapshot.state["speed"]), float(self.snapshot.state["sps"])
        if not limit and factor > 1:
            self.notify("there is no speed limit; - sets one", title="Speed")
            return
        wanted = max(1.0, (limit or (running if running > 0 else 100.0)) * factor)
        self.command("speed", sps=wanted)
        self.notify(
            f"at most {wanted:,.0f} {plural(self.units.step)}/s; m takes the limit away", title="Speed", timeout=2
        )

    def action_unlimited(self) -> None:
        """No speed limit."""
        self.command("speed", sps=0.0)
        self.notify("no limit", title="Speed", timeout=2)

    def action_baseline(self) -> None:
        """Measure one environment, then go back to N."""
        self.command("baseline")

    # -- the number of environments -----------------------------------------------------------------------------------

    def action_resize(self, by: int) -> None:
        """Restart with some environments more or fewer, unless somebody objects within half a second."""
        self._want((self.pending.wanted or self.num_envs) + by)

    def action_scale(self, factor: float) -> None:
        """Restart with so many times the environments."""
        self._want(int((self.pending.wanted or self.num_envs) * factor))

    def action_ask_envs(self) -> None:
        """Type a number of environments."""
        self._ask(f"number of {plural(self.units.environment)}:", self._want)

    def _want(self, num_envs: int) -> None:
        if self.snapshot is None or self.phase in ENDING:
            return
        self.pending.ask(num_envs)
        self.set_timer(DEBOUNCE, self.settle)
        self.announce()

    def settle(self, *, now: bool = False) -> bool:
        """Restart if it is time to; return whether something was decided."""
        wanted = self.pending.take(now=now)
        if wanted is None:
            return False
        if wanted != self.num_envs:
            self.command("restart", num_envs=wanted)
        return True

    def _ask(self, question: str, answer: Callable[[int], None]) -> None:
        """Ask for a number and act on it."""

        def answered(text: str | None) -> None:
            if text is not None and text.lstrip("+-").isdigit():
                answer(int(text))

        self.push_screen(Prompt(question), answered)

    # -- the way out --------------------------------------------------------------------------------------------------

    def action_leave(self) -> None:
        """Ask whether to stop or to detach; once a stop was asked for, hasten it."""
        if self.phase.over or self.stops or self.snapshot is None or self.connection.origin == "thread":
            self.action_stop()
            return
        facts = self.snapshot.description
        then = self.wanted.name if self.wanted is not None else ""
        leave = LeaveDialog(facts.run, watched=facts.watched, stops=self.connection.ours, then=then)
        self.push_screen(leave, self._leave)

    def _leave(self, choice: Choice | None) -> None:
        if choice == "stop":
            self.action_stop()
        elif choice == "detach":
            self.detach()
        else:
            self.wanted = None

    def action_runs(self) -> None:
        """Show the runs, to go to one of them."""
        from .dialogs.run_picker import RunPicker

        about = self.snapshot.description if self.snapshot is not None else None
        parent = Path(about.folder).parent if about is not None and about.folder else RUNS
        self.push_screen(RunPicker(parent, about.pid if about is not None else 0), self._go_to)

    def _go_to(self, run: RunOverview | None) -> None:
        """Leave for another run."""
        self.wanted = run
        if run is not None:
            self.action_leave()

    def action_interrupt(self) -> None:
        """Stop what was started here, leave what was there before."""
        self.interrupted = self.connection.ours
        self.action_stop() if self.interrupted else self.detach()

    def detach(self) -> None:
        """Leave the session to itself."""
        self.connection.detached = True
        self.exit(DONE, return_code=DONE)

    def action_control(self) -> None:
        """Take control from whoever has it."""
        self.command("control")

    @property
    def controlled_by(self) -> str:
        """Who controls the session, if it is not this app."""
        audience = self.snapshot.audience if self.snapshot is not None else {"controller": 0}
        others = audience["controller"] not in {0, self.connection.number} and not self.phase.over
        return str(audience["name"]) if others else ""

    def action_stop(self) -> None:
        """Have the session save and end; the app follows it. Asked a third time, end it at once."""
        if self.phase.over:
            self.leave()
            return
        self.stops += 1
        self.pending.cancel()
        if self.stops == 1:
            self._commands.send("stop")
        elif self.stops == 3:
            self.connection.kill()
            self.exit(FAILED, return_code=FAILED)
        self.announce()

    async def action_quit(self) -> None:
        """Textual's own way to quit is ours."""
        self.action_stop()

    def leave(self) -> None:
        """Leave for good, with the code that fits how the session ended."""
        code = FAILED if self.phase is Phase.FAILED else INTERRUPTED if self.interrupted else DONE
        self.exit(code, return_code=code)

    def on_unmount(self) -> None:
        """Let the threads go."""
        self._snapshots.close()
        self._commands.close()

    def hurry(self) -> None:
        """Look at the session now and draw all of it."""

    def announce(self) -> None:
        """Draw what `note` says."""

    def note(self) -> Row | None:
        """Return what the bottom of the screen has to say before all else."""
        if self.stops == 1 and not self.phase.over:
            return (
                styled(" stopping... ", YELLOW, bold=True),
                styled("saving a checkpoint, ending the workers", FAINT),
            )
        if self.stops > 1 and not self.phase.over:
            return (styled(" still stopping; q once more ends it at once, without saving ", ORANGE, bold=True),)
        if self.asked not in {None, self.phase is Phase.PAUSED} and not self.phase.over:
            return (styled(" pausing... " if self.asked else " resuming... ", YELLOW, bold=True),)
        if self.phase is Phase.RESTARTING:
            return (styled(f" restarting with num_envs={self.num_envs}... ", YELLOW, bold=True),)
        if self.pending.wanted is not None:
            text = f" num_envs={self.pending.wanted:,} in {self.pending.left:.1f} s "
            return (styled(text, YELLOW, bold=True), styled("  Enter now   Esc cancel   [ ] change", TEXT))
        return None
