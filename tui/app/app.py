"""The app: makes its parts, connects them, and has them do what the table of keys says."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import asdict, replace
from pathlib import Path
from threading import Lock
from typing import Any, ClassVar, Literal

from textual import work
from textual.actions import parse
from textual.app import ComposeResult
from textual.binding import BindingsMap
from textual.events import Key

from ...envs.entries import FolderEntry
from ...envs.files import UnreadableFile
from ...envs.printable import printable
from ...envs.titles import Titled, set_title
from ...envs.trust import accept
from ...training.config import RUNS
from ...training.exits import DONE
from ...training.imports import importing
from ...training.past.episode_file import read
from ...training.telemetry.records import Level, Phase
from ...training.telemetry.snapshot import Event, Snapshot, ViewRequest
from ..connections.connection import SessionConnection
from ..dialogs.dialog import PanelDialog
from ..dialogs.episodes import EpisodesDialog
from ..dialogs.prompt import KeyPrompt
from ..drawing.plain import PlainScreen
from ..drawing.theme import change_theme, colors_distinguish
from ..keys import bindings, shown, table
from ..messages import (
    CurvePointed,
    CurvesZoomed,
    EnvironmentOpened,
    EpisodeKept,
    MemberChosen,
    PictureTaken,
    Refused,
    RunsRead,
    SessionLost,
    SnapshotTaken,
    ViewChosen,
)
from ..preferences import Preferences, Tolerances, preferences, use
from ..terminal.svg import save_svg
from ..terminal.terminal_app import TerminalApp
from .availability import why_unavailable, works_after_end
from .curve_commands import CurveCommands, load_curves, reread, save_curves
from .debugger import EnvironmentDebugger
from .dialog_opener import DialogOpener
from .ending import Ending
from .navigation import TIMELINE, ZOOMS, Navigation
from .painter import Painter
from .refresh import BELOW, BESIDE, BUDGET, PICTURES_BUDGET, Rate, RefreshScheduler, interval
from .session_commands import SessionCommands
from .state import AppState
from .threads import CommandThread, SnapshotThread, foreseen

TOASTS: dict[Level, Literal["information", "warning", "error"]] = {
    Level.GOOD: "information",
    Level.WARNING: "warning",
    Level.ERROR: "error",
    Level.FATAL: "error",
}
RATES: dict[str, Rate] = {"summary": "grid", "environment": "environment"}
"""How often snapshots are requested, by view; elsewhere as often as figures are drawn."""
TRACE_SECONDS = 5.0
OTHER_RUNS = 2.0
"""Seconds between two readings of the curves of other runs."""


class PacApp(TerminalApp):
    """Shows a session.

    Attributes:
        state: What the app shows: the session and what of it is selected.
        debugger: Inspects one environment and goes back in time.
        training: Sends commands to the session.
        ending: Stops the session, or detaches from it.
        curves: Moves the cursor over the curves, zooms, smooths.
        navigation: Selects views, environments and pages.
        painter: Draws the screen.
        dialogs: Opens dialogs.
        replay: The episode for which the app has left the screen.
        notice: A sentence for the user that is shown with the first snapshot.
        INSTEAD: Actions by the ids of commands that do not do what the table of keys says.

    Args:
        state: What the app showed before a replay.
    """

    CSS_PATH = Path(__file__).with_name("pac.tcss")
    HORIZONTAL_BREAKPOINTS = [(0, "-slim"), (70, "-narrow"), (100, "-normal"), (150, "-wide")]  # noqa: RUF012 - Textual's
    VERTICAL_BREAKPOINTS = [(0, "-low"), (20, "-short"), (34, "-tall"), (50, "-high")]  # noqa: RUF012 - Textual's

    INSTEAD: ClassVar[Mapping[str, str]] = {}

    def __init__(self, connection: SessionConnection, state: AppState | None = None) -> None:
        super().__init__()
        self._bindings = BindingsMap(bindings())
        self.connection = connection
        self.state, self.scheduler = state or AppState(), RefreshScheduler()
        self.state.runs_script = connection.origin == "script"
        self._advised = False
        self.replay: EpisodeKept | None = None
        self.notice = ""
        self._requests = CommandThread(connection, self.post_message)
        self._snapshots = SnapshotThread(connection, self.post_message)
        self.debugger = EnvironmentDebugger(self.state, self)
        self.training = SessionCommands(self.state, self._requests.send, self)
        self.ending = Ending(self.state, connection, self.training, self)
        directory, colors = (lambda: connection.directory), colors_distinguish(self)
        self.painter = Painter(self.state, self.debugger, self.scheduler, directory, colors=colors)
        self.curves = CurveCommands(self.state, self.painter.curves, self)
        self.navigation = Navigation(self.state, self.debugger, self.curves, self.painter, self)
        self.dialogs = DialogOpener(self)
        self._requested: ViewRequest | None = None
        self._tolerances: dict[int, Tolerances] = {}
        self._opened = time.time() if connection.origin == "elsewhere" else 0.0
        self._announced: tuple[Phase, Mapping[str, Any]] | None = None
        self._resized = False
        self._reading = Lock()

    def action_run_command(self, command: str) -> None:
        """Do what a key does, or show why that is unavailable. When a script has ended, other keys leave."""
        if self.state.end and not works_after_end(command, self.state):
            self.ending.leave()
        elif reason := self.unavailable(command):
            self.notify(reason, title=f"Unavailable: {self.title_of(command)}", severity="warning")
        else:
            key = table()[command]
            if key.view and key.view != self.state.view:
                self.navigation.show(key.view)
            zooms = ZOOMS.get(command) if self.state.view == TIMELINE else None
            act, arguments = self.resolved(zooms or self.INSTEAD.get(command, key.do))
            act(*arguments)

    def resolved(self, action: str) -> tuple[Callable[..., object], tuple[object, ...]]:
        """Return the method of the app or of a part that an action names, and its arguments."""
        part, name, arguments = parse(action)
        return getattr(getattr(self, part) if part else self, name), arguments

    def on_key(self, event: Key) -> None:
        """Leave at a key that does nothing else, when a script has ended."""
        bound = event.key in self._bindings.key_to_bindings
        if self.state.end and not bound and len(self.screen_stack) == 1:
            self.ending.leave()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Return whether an action can be executed: while a key is asked for, no key does anything but interrupt."""
        asked = action == "run_command" and isinstance(self.screen, KeyPrompt)
        return parameters == ("interrupt",) if asked else super().check_action(action, parameters)

    def unavailable(self, command: str) -> str:
        """Return why a command of `keys.py` cannot be executed; an empty text if it can."""
        return why_unavailable(command, self.state) or self._why_no_copy(command)

    def _why_no_copy(self, command: str) -> str:
        """Return why the steps around the shown one cannot be played again in a copy, for a command that does so."""
        if command == "against" or (command == "play" and self.debugger.in_past):
            return self.debugger.why_no_copy
        return ""

    def title_of(self, command: str) -> str:
        """Return what a command does, in the words of the session's trainer."""
        if command == "play" and self.debugger.in_past:
            return "Branch: take another action at this step, and play on in a copy"
        return self.state.units.translate(table()[command].title)

    def change_preferences(self, wanted: Preferences) -> None:
        """Use other preferences at once."""
        use(wanted)
        self._bindings = BindingsMap(bindings())
        change_theme(self)
        self.choose_pictures()
        self.painter.restyle(colors=colors_distinguish(self))
        self.refresh_now()

    async def action_quit(self) -> None:
        """Do what the key to quit does."""
        self.action_run_command("quit")

    def accept(self) -> None:
        """Restart now if a restart is pending; else open what is selected."""
        if not self.training.restart_if_due(now=True):
            self.curves.enlarge() if self.state.view == "learning" else self.navigation.accept()
        self.draw_footer()

    def cancel(self) -> None:
        """End the innermost thing that is under way, or go back to the summary."""
        on_curves = self.state.view == "learning"
        under_way = self.debugger.go_to_newest() or self.training.pending.cancel()
        if not (under_way or (on_curves and self.curves.reset()) or self.navigation.cancel()):
            self.navigation.show("summary")
        self.draw_footer()

    # -- from the session to the screen -------------------------------------------------------------------------------

    def get_default_screen(self) -> PlainScreen:
        """Return the screen that contains the views."""
        return PlainScreen(id="_default")

    def compose(self) -> ComposeResult:
        """Yield the widgets from top to bottom."""
        yield from self.painter.widgets()

    def on_mount(self) -> None:
        """Load which curves are shown. Start to request snapshots."""
        try:
            self.state.curves = load_curves(self.state.curves)
        except UnreadableFile as error:
            self.notify(str(error), title="Curves", severity="error")
        self._tick()

    def on_unmount(self) -> None:
        """End the threads."""
        self._snapshots.close()
        self._requests.close()

    def _tick(self) -> None:
        """Request a snapshot, as often as the view needs it and the app may cost."""
        if not self.is_running:
            return
        counting_down = self.training.pending.num_envs is not None
        rate: Rate = "grid" if counting_down else RATES.get(self.state.view, "figures")
        beside = BELOW if len(self.screen_stack) > 1 else BESIDE
        self.scheduler.beside = beside if self.canvas.showing else 1.0
        pictures, usual = self.scheduler.pictures_slowdown, self.scheduler.slowdown
        self.set_timer(interval(rate) * (pictures if self.canvas.showing else usual), self._tick)
        self.scheduler.measure(PICTURES_BUDGET if self.canvas.showing else BUDGET)
        self.training.restart_if_due()
        self._follow_script()
        self.state.starting = self.connection.starting.text
        if self.canvas.busy:
            return  # what is on its way comes first, so that a key's answer does not wait behind newer text
        plays = self.painter.plays
        if plays and not self.scheduler.due("snapshot", interval("grid")):
            self._snapshots.request_picture(self.state.env)
        else:
            self._request()
        if self.state.view == "learning" and self.state.curves.overlays and self.scheduler.due("runs", OTHER_RUNS):
            self._read_runs()
        if self.scheduler.due("system", interval("system")) or counting_down:
            self.draw_footer()
        # Log files grow without a new snapshot. The last snapshot may have come before figures were due.
        idle = self.state.idle(time.time()) and self.scheduler.due("idle", interval("figures"))
        if (
            self.state.phase is Phase.STARTING
            or self.state.view == "logs"
            or (self.painter.overdue and not plays)
            or idle
        ):
            self.painter.draw()

    def _follow_script(self) -> None:
        """Show how the script has ended; leave if the user has asked for that before. Give advice once."""
        if not self._advised and (advice := self.connection.advice()):
            self._advised = True
            self.notify(advice, severity="warning", timeout=20)
        if not self.state.end and (end := self.connection.script_end()):
            self.state.end = end
            if self.ending.stop_requests or self.connection.leaves_at_end:
                self.ending.leave()
            else:
                self.refresh_now()

    def _request(self) -> None:
        """Request a snapshot of what is on the screen. Tell the session when that changes."""
        snapshot = self.state.snapshot
        here = snapshot is not None and snapshot.description.host == socket.gethostname()  # a relay carries little
        episodes = isinstance(self.screen, EpisodesDialog)
        request = replace(self.painter.request(), episodes=episodes, large=here and self.canvas.mode != "off")
        if request != self._requested:
            self._requested = request
            self.training.send("look", **{**asdict(request), "curves": list(request.curves)})
        self._snapshots.request(request)
        self._send_tolerances()

    def _send_tolerances(self) -> None:
        """Tell the session how sensitive its diagnosis is to be, unless it is as usual."""
        wanted = preferences().findings
        pid = self.state.snapshot.description.pid if self.state.snapshot is not None else None
        if pid is not None and wanted != self._tolerances.get(pid, Tolerances()) and not self.state.phase.over:
            self._tolerances[pid] = wanted
            self.training.send("findings", **wanted.model_dump(mode="json"))

    def key_of(self, command: str) -> str:
        """Return a command's key as the app shows it."""
        return shown(command)

    def refresh_now(self) -> None:
        """Draw everything and request a snapshot."""
        if not self.is_running:
            return
        self.scheduler.expire_all()
        self.painter.draw_header()
        self.draw_footer()
        self.painter.draw()
        self._request()

    def draw_footer(self) -> None:
        """Draw the last lines of the screen."""
        controller = self.state.controlled_by_other(self.connection.number)
        self.painter.draw_footer(self.ending.note() or self.training.note(), controller, self.unavailable)

    def on_snapshot_taken(self, message: SnapshotTaken) -> None:
        """Show a new snapshot."""
        turned = message.selected != self.state.selected
        if turned and not self.state.runs_script:
            return
        self.state.snapshot, self.state.members = message.snapshot, message.members
        if turned:
            self.state.turn_to(message.selected)
            self.debugger.reset()
            self._requested, self._announced = None, None
            self.painter.restyle(colors=colors_distinguish(self))
            self.training.requested_pause = None
        if self.is_running:
            self.show_snapshot(message.snapshot)

    def on_picture_taken(self, message: PictureTaken) -> None:
        """Show a new picture of the environment that is shown, beside figures that are older."""
        if self.is_running and (message.selected, message.env) == (self.state.selected, self.state.env):
            self.painter.show_picture(message.pixels)

    def show_snapshot(self, snapshot: Snapshot) -> None:
        """Show a new snapshot; report what happened; leave with the session."""
        self.state.env = min(self.state.env, max(0, snapshot.num_envs - 1))
        if snapshot.description.run != Titled.run:
            Titled.run = snapshot.description.run
            set_title("app")
        self._toast(snapshot)
        if self.notice:
            self.notify(self.notice)
            self.notice = ""
        if self.state.lists_episodes:
            self.state.lists_episodes = False
            self.dialogs.episodes()
        if (env := self.debugger.new_break(snapshot)) is not None:
            self.navigation.open_environment(env + 1)
        if isinstance(self.screen, PanelDialog):
            self.screen.show(snapshot)
        if (snapshot.phase, snapshot.audience) != self._announced:
            self._announced = snapshot.phase, snapshot.audience
            self.training.requested_pause = None
            self.scheduler.expire_all()
            self.draw_footer()
        self.painter.draw()
        others = (member for index, member in enumerate(self.state.members) if index != self.state.selected)
        over = snapshot.phase is Phase.ENDED and all(member.over for member in others)
        if over and not self.state.runs_script and self.connection.leaves_at_end:
            self.ending.leave()

    def _toast(self, snapshot: Snapshot) -> None:
        """Show the events since the last snapshot; after attaching, only those that happened since."""
        for event in snapshot.events:
            if event.number > self.state.last_event and event.time >= self._opened and event.level in TOASTS:
                self.notify(event.text, severity=TOASTS[event.level])
                self._signal(event)
        self.state.last_event = max((event.number for event in snapshot.events), default=self.state.last_event)

    def _signal(self, event: Event) -> None:
        """Ring the bell for a warning or an error, or have the desktop show it, if the user wants that."""
        wanted = preferences().signal
        if event.level < Level.WARNING or wanted == "off":
            return
        if wanted == "bell":
            self.bell()
        elif self._driver is not None:
            self._driver.write(f"\x1b]9;{printable(event.text)}\x07")
            self._driver.flush()

    def on_session_lost(self, message: SessionLost) -> None:
        """Show the error; if no snapshot was ever taken, leave it to the command line."""
        if message.selected != self.state.selected or self.state.end:
            return
        self.state.lost = message.error
        if self.state.snapshot is None and not any(member.snapshot for member in self.state.members):
            self.ending.leave()
        else:
            self.refresh_now()

    def on_refused(self, message: Refused) -> None:
        """Show why a command was refused, in the dialog that sent it if there is one."""
        if isinstance(self.screen, PanelDialog) and message.command in self.screen.SENDS:
            self.screen.refused(message.command, str(message.error))
            return
        if message.command == "stop":
            self.ending.stop_refused()
        self.training.requested_pause = None
        if message.command not in {"look", "findings"} and not self.ending.stop_requests:
            self.notify(str(message.error), title=message.error.title, severity="warning")

    @work(thread=True, exclusive=True)
    def keep_episode(self, env: int, episode: int, length: int) -> None:
        """Have the session write an episode to a file, and replay it."""
        try:
            path = Path(self.connection.call("keep_episode", env=env, episode=episode, length=length)["path"])
            self.post_message(EpisodeKept(read(FolderEntry(path.parents[1], *path.parts[-2:]), accept), path))
        except Exception as error:
            self.post_message(Refused("keep_episode", foreseen(error)))

    def branch(self) -> None:
        """Ask for another action at the shown step, and show the future that follows beside the original one."""
        self.notify("playing the steps again", title="Branch", timeout=2)
        self._open_past(self.state.env, self.debugger.back, "")

    def against(self, name: str) -> None:
        """Show what another policy would do at the steps around the shown one."""
        self.notify("asking it at every step", title=name, timeout=2)
        self._open_past(self.state.env, self.debugger.back, name)

    @work(thread=True, exclusive=True, group="past")
    def _open_past(self, env: int, back: int, name: str) -> None:
        """Have the session write the steps around one, and compare the policy there with another, or with itself."""
        try:
            answer = self.connection.call("keep_past", env=env, back=back)
            path, at = Path(answer["path"]), int(answer["at"])
            with importing():
                from ...training.compare.recorded import KeptPast, owner_of
                from ...training.compare.seeds import PAUSED
                from ..dialogs.lockstep import Lockstep, choose_branch
            live = bool(answer.get("policy"))
            episode = read(FolderEntry(path.parents[1], *path.parts[-2:]), accept, own=live)
            owner = owner_of(episode, path, RUNS)
            runs_dir = Path(owner).parent if owner else RUNS
            kept = KeptPast(episode, f"{owner}@{PAUSED}" if live else owner, runs_dir, accept)
            if name:
                pairing = kept.against(name)
                pairing.play(at)
                self.call_from_thread(self.push_screen, Lockstep(pairing, min(at, pairing.length)))
            else:
                self.call_from_thread(choose_branch, self, kept.branching(at), at)
        except Exception as error:
            self.post_message(Refused("keep_past", foreseen(error)))

    def save_state(self) -> None:
        """Save the shown state of the selected environment."""
        if self.debugger.shows_an_end:
            self.notify(
                "This is the end of an episode. Go one step back or forward.", title="State", severity="warning"
            )
        else:
            self._send_save_state(self.state.env, self.debugger.back)

    def save_trace(self) -> None:
        """Record a trace of the next seconds in a file of this folder."""
        snapshot = self.state.snapshot
        if snapshot is not None:
            name = f"{snapshot.description.run or 'session'}-trace-{time.strftime('%H%M%S')}.json.gz"
            self.notify(f"recording {TRACE_SECONDS:.0f} s in {name}", title="Trace")
            self._record_trace(Path(name))

    @work(thread=True, exclusive=True, group="trace")
    def _record_trace(self, path: Path) -> None:
        """Record a trace, and name its file."""
        from ...training.trace import TraceFile
        from ...training.trace_recorder import record, sentences

        try:
            with closing(self.connection.target.own_client()) as client:
                facts = record([(path.name.partition("-trace")[0], client)], TraceFile(path), TRACE_SECONDS)
            self.notify(" ".join(sentences(facts)), title="Trace", timeout=20)
        except Exception as error:
            self.post_message(Refused("trace", foreseen(error)))

    @work(thread=True, exclusive=True)
    def _send_save_state(self, env: int, back: int) -> None:
        """Have the session write files of a state, and name them."""
        try:
            answer = self.connection.call("save_state", env=env, back=back)
            paths = [Path(path) for path in answer["paths"]]
            where = f"{paths[0].parent} on {answer['host']}" if "host" in answer else paths[0].parent
            self.notify(f"saved {' and '.join(path.name for path in paths)} in {where}", title="State")
        except Exception as error:
            self.post_message(Refused("save_state", foreseen(error)))

    def on_episode_kept(self, message: EpisodeKept) -> None:
        """Leave the screen to the replay; the session goes on."""
        self.replay = message
        self.exit(DONE, DONE)

    def on_environment_opened(self, message: EnvironmentOpened) -> None:
        """Show the environment whose board was clicked."""
        self.navigation.open_environment(message.env + 1)

    def on_curve_pointed(self, message: CurvePointed) -> None:
        """Move the cursor to the place that was clicked."""
        self.curves.point(message.x)

    def on_curves_zoomed(self, message: CurvesZoomed) -> None:
        """Zoom around the mouse."""
        self.curves.zoom(message.factor, message.around)

    @work(thread=True, group="runs")
    def _read_runs(self) -> None:
        """Read the curves of other runs, unless they are being read."""
        if self._reading.acquire(blocking=False):
            try:
                self.post_message(RunsRead(*reread(self.state.curves.overlays)))
            finally:
                self._reading.release()

    def on_runs_read(self, message: RunsRead) -> None:
        """Draw the curves of other runs; report those that cannot be read, and remove them."""
        for run, reason in message.failed:
            self.curves.drop_run(run.key)
            self.notify(reason, title=f"Cannot compare with {run.name}", severity="error")
        if message.runs:
            self.curves.update_runs(message.runs)

    @work(thread=True, group="curves")
    def save_curves(self) -> None:
        """Keep which curves are shown, and in which order."""
        try:
            save_curves(self.state.curves)
        except OSError as error:
            self.notify(f"cannot write {error.filename}: {error.strerror}", title="Curves", severity="error")

    def switch_member(self, by: int) -> None:
        """Select the next or the previous session; before the first one, all are shown together."""
        here = 0 if self.state.view == "members" else self.state.selected + 1
        there = (here + by) % (len(self.state.members) + 1)
        self.on_member_chosen(MemberChosen(there - 1 if there else None))

    def on_member_chosen(self, message: MemberChosen) -> None:
        """Show another session, in the same view; or all of them."""
        if message.index is None:
            self.navigation.show("members")
            return
        if self.state.view == "members":
            self.navigation.show("summary")
        if message.index != self.state.selected:
            self.training.send("look", count=0)  # the session that was selected need not draw any more
            self.connection.selected = message.index
            self.state.select(message.index)
            self.debugger.reset()
            self._requested, self._announced, self._opened = None, None, time.time()
            self.painter.restyle(colors=colors_distinguish(self))
        self.refresh_now()

    def on_view_chosen(self, message: ViewChosen) -> None:
        """Show the view whose name was clicked."""
        self.navigation.show(message.view)

    def on_summary_view_page_turned(self) -> None:
        """Request the boards of the new page."""
        self.refresh_now()

    def on_text_lines_resized(self) -> None:
        """Draw everything for the new sizes, once all of them are known."""
        if not self._resized:
            self._resized = True
            self.call_after_refresh(self._redraw)

    def _redraw(self) -> None:
        self._resized = False
        self.refresh_now()

    def save_picture(self) -> None:
        """Save a picture of the screen."""
        try:
            path = save_svg(self.screen, self.canvas.visible)
        except OSError as error:
            self.notify(f"cannot write {error.filename}: {error.strerror}", title="Screenshot", severity="error")
        else:
            self.notify(f"saved {path}", title="Screenshot")
