"""Going from view to view, and what the keys that move something do in each of them."""

from __future__ import annotations

from ..training.telemetry.records import Phase
from ..training.units import plural
from .connection import SessionConnection
from .debugging import FAR, DebuggedApp
from .dialogs.help import HelpDialog
from .dialogs.prompt import Prompt
from .drawing.plain import PlainSwitcher
from .drawing.theme import apply_theme, colors_distinguish
from .messages import EnvironmentOpened, ViewChosen
from .views import EnvironmentView, LearningView, LogView, SummaryView, TimingView, View, WorkersView


class NavigatedApp(DebuggedApp):
    """Has the views, and shows one of them.

    Attributes:
        place: The name of the view that is shown.
        by_time: Whether curves run over wall time.
        switcher: The widget of all views.
    """

    def __init__(self, connection: SessionConnection) -> None:
        super().__init__(connection)
        apply_theme(self)
        self.by_time = False
        self.place = "summary"
        colors = colors_distinguish(self)
        self._summary = SummaryView(colors=colors)
        self._logs = LogView(lambda: connection.directory)
        views = (self._summary, EnvironmentView(colors=colors), TimingView(), LearningView(), WorkersView(), self._logs)
        self._views: dict[str, View] = {str(view.id): view for view in views}
        self.switcher = PlainSwitcher(*views, id="views", initial=self.place)

    @property
    def view(self) -> View:
        """The view that is shown."""
        return self._views[self.place]

    @property
    def travels(self) -> bool:
        """Whether one environment is shown that stands still."""
        return self.place == "environment" and self.phase is Phase.PAUSED and self.units.episodes

    def action_view(self, name: str) -> None:
        """Show a view."""
        if name != self.place:
            self.place = name
            self.switcher.current = name
        self.hurry()

    def action_summary(self) -> None:
        """Show all environments."""
        self.action_view("summary")

    def action_environment(self, number: int) -> None:
        """Show environment `number`, from 1."""
        if self.snapshot is not None and not 1 <= number <= self.snapshot.num_envs:
            self.notify(f"{plural(self.units.environment)} are numbered 1 to {self.num_envs:,}", severity="warning")
            return
        self.env = number - 1
        self.action_view("environment")

    def action_turn(self, by: int) -> None:
        """Go through summary, environment 1 .. N, and round."""
        count = self.snapshot.num_envs if self.snapshot is not None else 0
        here = self.env + 1 if self.place == "environment" else 0
        there = (here + by) % (count + 1)
        self.action_environment(there) if there else self.action_summary()

    def action_ask_env(self) -> None:
        """Type an environment's number."""
        self._ask(f"{self.units.environment} 1 to {self.num_envs}:", self.action_environment)

    def action_page(self, by: int) -> None:
        """Turn the page of the view."""
        if self.travels and self.view.pages[1] == 1:
            self.action_travel(by * FAR)
        else:
            self.view.turn_page(by)
            self.hurry()

    def action_move(self, columns: int, rows: int) -> None:
        """Move the selection in the grid; elsewhere go through time, or to another seat, worker or part of a line."""
        if self.place == "summary":
            self.env = self._summary.moved(self.env, columns, rows)
            self.hurry()
        elif self.place == "logs":
            self._logs.scroll_lines(rows)
            self._logs.shift(columns)
            self.hurry()
        elif columns:
            self.action_travel(columns)
        elif self.place == "environment":
            self.choose_seat(rows)
        elif self.place == "workers" and rows:
            self.action_page(rows)

    def action_accept(self) -> None:
        """Restart now if one is pending, else open the selected board."""
        if self.settle(now=True):
            pass
        elif self.place == "summary":
            self.action_environment(self.env + 1)
        elif self.place == "logs" and self._logs.find():
            self.hurry()
        self.announce()

    def action_cancel(self) -> None:
        """Forget a pending restart, else go back to the summary."""
        if self.travels and self.back:
            self.action_travel(max(2, self.back))
        elif not self.pending.cancel():
            self.action_summary()
        self.announce()

    def action_search(self) -> None:
        """Search the output."""

        def answered(text: str | None) -> None:
            if text is not None:
                self._logs.search(text)
                self.action_view("logs")

        self.push_screen(Prompt("search the output:", "text"), answered)

    def action_travel(self, by: int) -> None:
        """Go through time; in the output, follow it again or go to its beginning."""
        if self.place == "logs":
            self._logs.scroll_lines(by * FAR)
            self.hurry()
        else:
            super().action_travel(by)

    def action_inspect(self) -> None:
        """Show all that is known of the environment, or no longer."""
        if not self.units.episodes:
            word = self.units.environment
            self.notify(f"all that is known of a {word} stands beside its board", severity="warning")
        elif self.place in {"summary", "environment"}:
            super().action_inspect()
        else:
            self.inspecting = True
            self.action_environment(self.env + 1)

    def action_take_over(self) -> None:
        """Play the environment by hand, seen large."""
        if self.units.episodes:
            self.action_environment(self.env + 1)
            super().action_take_over()
        else:
            self.notify(f"a {self.units.environment} plays no episodes", severity="warning")

    def action_axis(self) -> None:
        """Curves over steps or over wall time."""
        self.by_time = not self.by_time
        self.hurry()

    def action_help(self) -> None:
        """Show all keys."""
        self.push_screen(HelpDialog(self.units))

    def on_environment_opened(self, message: EnvironmentOpened) -> None:
        """A board was clicked."""
        self.action_environment(message.env + 1)

    def on_view_chosen(self, message: ViewChosen) -> None:
        """A view's name was clicked."""
        self.action_view(message.view)

    def on_summary_view_page_turned(self) -> None:
        """Look at the boards of the new page."""
        self.hurry()
