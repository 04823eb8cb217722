"""What each view shows, at every size."""

import time
from contextlib import closing

import pytest

from pac.backends.core.status import EnvStatus
from pac.training.telemetry.records import Level, Phase
from pac.training.telemetry.timeline import Timeline
from pac.training.trainer import Lap
from pac.training.units import RETURN, Figure, Units
from pac.tui.drawing.big import big

from .fake_session import CHESS, FakeSession, play, screen_text, seen, until

LEGEND = (("▸", "running"), ("✓", "cleared"), ("✗", "topped out"))


def counted(app, steps):
    """Return whether the newest snapshot has so many steps."""
    return app.state.snapshot.state["steps"] == steps


async def test_the_summary_counts_and_compares(fake, open_app):
    """fps, speedup, efficiency and outcomes: 3.2x at 8 is 40 %."""
    play(fake)
    async with open_app(fake) as (app, _):
        await seen(app, "fps(total)", "2,400", "300.0", "3.20 x", "40 %", "✓ 3 cleared  ✗ 9 topped out", "1:02:03")
        await seen(app, "Env 1/8", "Env 8/8", "123,456 steps")


async def test_a_slim_terminal_shows_outcomes_in_rows(fake, open_app):
    """Each with its sign, where they do not fit side by side."""
    play(fake)
    with fake.writer.write("outcomes") as outcomes:
        outcomes[:4] = 0, 3000, 9000, 1000
    fake.say(episodes=13000)
    async with open_app(fake, (80, 24)) as (app, _):
        await seen(app, "13,000", "✓ cleared", "3,000", "✗ topped out", "9,000", "Return")


@pytest.mark.thorough
async def test_without_a_baseline_speedup_takes_one_line(fake, open_app):
    """It says how to measure it; the panel and the curve appear with the baseline."""
    async with open_app(fake) as (app, _):
        await seen(app, "speedup", "press B to measure")
        assert "Scaling" not in screen_text(app)
        fake.scaling(n1=750.0, n8=2400.0)
        await seen(app, "Scaling", "3.20 x", "N = 8")
        assert "press B" not in screen_text(app)


async def test_the_return_is_large_and_has_one_value(fake, open_app):
    """Its digits are three lines high, its change is beside it, and no other panel repeats it."""
    play(fake)
    fake.say(return_mean=0.123)
    async with open_app(fake, (160, 50)) as (app, _):
        await seen(app, "Return, mean of 100", *big("1.000"), "▲ 0.490", "in 12 s")
        shown = screen_text(app)
        assert "0.123" not in shown
        assert "return_mean" not in shown
        assert shown.count("Length") == 0


async def test_a_change_of_a_solver_is_judged_on_its_logarithmic_axis(fake, open_app):
    """A measure that falls by a factor of two gets better, however small it is against its first value."""
    goal = Figure("nash_conv", "NashConv", log=True, better="lower")
    fake.facts = {"figures": (goal, RETURN)}
    fake.restart(4)
    fake.history(nash_conv=[10 / 1.06**k for k in range(100)])
    async with open_app(fake) as (app, _):
        await seen(app, "NashConv", "▼ 0.", "in 24 s")


@pytest.mark.thorough
@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)])
async def test_the_signs_of_boards_are_explained_once(fake, open_app, size):
    """That of the phase in the header, those of outcomes beside their numbers."""
    play(fake)
    async with open_app(fake, size) as (app, _):
        await seen(app, "▸ running", "✓", "✗")
        rows = screen_text(app).splitlines()
        assert [sum(f"{sign} " in row and word in row for row in rows) for sign, word in LEGEND] == [1, 1, 1]
        fake.say(phase=Phase.PAUSED)
        await seen(app, "‖ paused")


async def test_boards_show_their_state_without_color(fake, open_app):
    """Cleared, topped out, hung and stepping have a sign, and the first three a word; an outcome has its return."""
    with fake.writer.write("environments") as table:
        table["ended"][:2] = time.time() + 1000
        table["last_outcome"][:2], table["last_return"][:2] = (1, 2), (2.25, -0.75)
        table["status"][2] = EnvStatus.HUNG
        table["status"][3] = EnvStatus.DEAD
    fake.say()
    async with open_app(fake) as (app, _):
        await seen(app, "hung", "dead", "▸", " cleared 2.25 ", "topped out -0.75", "✓", "✗")


async def test_a_narrow_board_shows_the_return_of_a_finished_episode(fake, open_app):
    """The sign says how it ended."""
    with fake.writer.write("environments") as table:
        table["ended"][:2] = time.time() + 1000
        table["last_outcome"][:2], table["last_return"][:2] = (1, 2), (2.25, -0.75)
    fake.say()
    async with open_app(fake, (80, 24)) as (app, _):
        await seen(app, " 1/8  ✓ ", " 2.25 ", " 2/8  ✗ ", " -0.75 ")


@pytest.mark.thorough
async def test_wide_terminals_show_more_curves(fake, open_app):
    """Below the boards and beside one of them; these curves are requested."""
    play(fake)
    async with open_app(fake, (200, 60)) as (app, pilot):
        await seen(app, "Return, mean of 100", "─ viruses, info ─", "Time of a step")
        await until(lambda: "info/viruses" in fake.looks[-1]["curves"])
        await pilot.press("3")
        await seen(app, "Learning", "─ policy, loss ─", "─ viruses, info ─")


@pytest.mark.thorough
async def test_a_curve_has_no_name_until_its_metric_is_known(fake, open_app):
    """The metric of a solver depends on the size of its game."""
    fake.facts = {"figures": (Figure("nash_conv", "NashConv"), Figure("regret", "Regret"))}
    fake.restart(8)
    async with open_app(fake, (80, 24)) as (app, _):
        await seen(app, "─ Learning ─", "waiting for the first")
        assert "NashConv" not in screen_text(app)
        fake.history(regret=[4.0, 2.0])
        await seen(app, "─ Regret ─")


async def test_a_slim_header_shows_the_speed_only_while_running(fake, open_app):
    """Otherwise it shows the number of steps."""
    play(fake)
    async with open_app(fake, (40, 12)) as (app, _):
        await seen(app, "running   2,400 fps")
        fake.say(phase=Phase.PAUSED)
        await seen(app, "paused   123,456 steps")


@pytest.mark.thorough
async def test_letters_distinguish_pieces_on_the_console(fake, open_app, monkeypatch):
    """Sixteen colors would make two of them the same."""
    monkeypatch.setenv("TERM", "linux")
    play(fake)
    async with open_app(fake) as (app, _):
        await seen(app, "rr", "ss", "aa")


async def test_a_watched_script_has_no_scaling(runtime_directory, open_app):
    """The number of its environments cannot be changed."""
    with closing(FakeSession(runtime_directory)) as fake:
        fake.facts = {"watched": True}
        fake.restart(4)
        async with open_app(fake) as (app, _):
            await seen(app, "Throughput", "Episodes")
            assert "Scaling" not in screen_text(app)


async def test_a_watched_script_is_described_as_such(runtime_directory, open_app):
    """Its output, its environments, and the dialog to leave, in 40 columns."""
    with closing(FakeSession(runtime_directory)) as fake:
        fake.facts = {"watched": True}
        fake.restart(4)
        async with open_app(fake, (40, 12)) as (app, pilot):
            await pilot.press("o")
            await seen(app, "own terminal")
            await pilot.press("w")
            await seen(app, "script's own process")
            await pilot.press("q")
            await seen(app, "continues", "return", "stay")


async def test_a_paused_board_has_the_sign_of_a_pause(fake, open_app):
    """As the header does."""
    fake.say(phase=Phase.PAUSED)
    async with open_app(fake) as (app, _):
        await seen(app, "‖ paused")
        await until(lambda: screen_text(app).count("‖") == 1 + 8)


async def test_the_return_is_shown_beside_a_paused_board_in_a_low_terminal(fake, open_app):
    """The timeline takes two lines."""
    play(fake)
    fake.say(phase=Phase.PAUSED)
    async with open_app(fake, (80, 24)) as (app, pilot):
        await pilot.press("1")
        await seen(app, "‖ paused", "Return, mean of 100")


async def test_many_boards_are_divided_into_pages(runtime_directory, open_app):
    """PgDn shows the next page, the header counts them, and the session is told."""
    with closing(FakeSession(runtime_directory, num_envs=300)) as fake:
        async with open_app(fake, (80, 24)) as (app, pilot):
            await seen(app, "page 1/", "1/300")
            grid = app.query_one("#grid")
            await until(lambda: fake.looks and fake.looks[-1]["count"] == grid.page)
            await pilot.pause()
            await pilot.press("pagedown")
            page = grid.page
            await seen(app, "page 2/", f"{page + 1}/300")
            await until(lambda: fake.looks[-1]["first"] == page)
            await pilot.press("pageup")
            await seen(app, "page 1/")


async def test_the_environment_view_shows_one_environment(fake, open_app):
    """Episode, scalars, reward terms, the policy's value and most probable actions."""
    play(fake)
    with fake.writer.write("environments") as table:
        table["episode"][2], table["episode_return"][2], table["action"][2] = 41, 1.25, 3 * 128 + 9 * 8 + 2
        table["last_outcome"][2], table["last_return"][2] = 2, -0.75
    with fake.writer.write("info") as info:
        info[2, 0] = 4
    with fake.writer.write("terms") as terms:
        terms[2] = (0.5, 1.0, 0.0)
    with fake.writer.write("policy") as policy:
        policy["env"], policy["value"], policy["entropy"], policy["count"] = 2, 0.625, 2.5, 2
        policy["actions"][:2], policy["probabilities"][:2] = (5, 130), (0.7, 0.2)
    fake.say()
    async with open_app(fake) as (app, pilot):
        await pilot.press("3")
        await seen(app, "Env 3/8", "42", "1.25", "above 9,2", "topped out", "viruses", "virus_clear", "1.50")
        await seen(app, "0.625", "2.500 nats", "70.0 %", "right 0,5", "below 0,2", "Next")


async def test_a_short_environment_view_shows_the_return_large(fake, open_app):
    """Above policy, reward and speed; while paused, when there are fewer lines, speed is left out."""
    play(fake)
    async with open_app(fake, (80, 24)) as (app, pilot):
        await pilot.press("3")
        await seen(app, *big("1.000"), "Policy", "virus_clear", "fps(total)")
        fake.say(phase=Phase.PAUSED)
        await until(lambda: "fps(total)" not in screen_text(app))
        await seen(app, *big("1.000"), "Policy", "virus_clear")


async def test_panels_of_every_kind_are_drawn(runtime_directory, open_app):
    """Cells, pixels, bars and a table, each with its title; actions have their names."""
    with closing(FakeSession(runtime_directory, CHESS, num_envs=2)) as fake:
        with fake.writer.write("board:forces") as forces:
            forces[:] = (0.5, -1.0)
        with fake.writer.write("environments") as table:
            table["action"] = 2
        fake.say()
        async with open_app(fake) as (app, pilot):
            await pilot.press("2")
            await seen(app, "Picture", "Forces", "Numbers", "push", "height", "right")


@pytest.mark.thorough
async def test_the_times_add_up(fake, open_app):
    """The time outside all phases has its own bar, and the sum is the wall time."""
    play(fake)
    async with open_app(fake) as (app, pilot):
        await pilot.press("t")
        await seen(app, "environment", "transport wait", "25.0 %", "12.5 %", "unaccounted", "5.0 %", "100.0 %")
        await seen(app, "66.667", "8.33 ms")


async def test_lanes_of_processes_are_drawn_below_the_times(fake, open_app):
    """One for each thread or process that reports its phases, with their names, and the time of a step over steps."""
    play(fake)
    fake.history(sps=[100.0] * 49 + [125.0])
    async with open_app(fake) as (app, pilot):
        await pilot.press("t")
        await seen(app, "Time of one env step, ms", "8.00 ms")
        assert "Timeline" not in screen_text(app)
        timeline = Timeline()
        timeline.add("training", lambda: [Lap("environment", 10.0, 10.25), Lap("learner", 10.25, 10.5)])
        timeline.add("learner 2", lambda: [Lap("all reduce", 10.1, 10.5)])
        timeline.write(fake.writer)
        fake.say()
        await seen(
            app,
            "Timeline",
            "training",
            "learner 2",
            "■ environment, transport  ■ learner  ■ all reduce",
            "last 400.00 ms",
        )


async def test_curves_run_over_steps_or_time(fake, open_app):
    """x switches the axis, and the shown curves are requested."""
    play(fake)
    async with open_app(fake) as (app, pilot):
        await pilot.press("l")
        await seen(app, "Return, mean of 100", "─ viruses, info ─", "─ policy, loss ─", "5k steps")
        await until(lambda: "loss/policy" in fake.looks[-1]["curves"])
        await pilot.press("x")
        await seen(app, "00:45")


async def test_workers_and_events_are_listed(fake, open_app):
    """Environments, state and last error of each worker, and the newest events first."""
    fake.process(0, pid=4242, end_env=4, cpu=12.0, rss=150 << 20)
    fake.process(1, pid=4343, first_env=4, end_env=8, state=b"dead", restarts=2, error=b"ValueError: no such move")
    fake.event(Level.INFO, "restarted with num_envs=8")
    fake.event(Level.ERROR, "worker 2 died")
    async with open_app(fake) as (app, pilot):
        await pilot.press("w")
        await seen(app, "4242", "1-4", "5-8", "dead", "150.0 MiB", "ValueError: no such move")
        await seen(app, "18.8 MiB per environment", "worker 2 died", "restarted with num_envs=8")
        fake.history(fps=[2000.0, 2500.0])
        await seen(app, "─ fps ─", "2,500", "worker 2 died")
        log = screen_text(app)
        assert log.index("worker 2 died") < log.index("restarted with num_envs=8")


async def test_processes_of_several_roles_are_listed_with_their_roles(fake, open_app):
    """A learner is listed below the workers, with its name, its device and its updates per second."""
    fake.process(0, pid=4242, end_env=8, rate=1234.0)
    fake.process(1, "learner", index=0, pid=4343, name=b"alice", device=b"cuda:1", rate=56.0)
    async with open_app(fake, (160, 40)) as (app, pilot):
        await pilot.press("w")
        await seen(app, "rate/s", "worker 1", "1,234", "learner alice", "56", "cuda:1", "1 x shm")


async def test_each_learner_has_its_figures_in_the_table_of_processes(fake, open_app):
    """Lag in versions and gradient steps, replay, age of samples, loss, epsilon; the trainer's panel has ranges."""
    fake.process(0, "actor", index=0, pid=4242)
    for row, name in ((1, b"alice"), (2, b"bob")):
        fake.process(row, "learner", index=row - 1, pid=4242 + row, name=name)
    fake.history(
        loss=[0.5],
        **{"learner1/policy_lag": [12.0], "learner1/policy_lag_versions": [3.0]},
        **{"learner1/replay_filled": [0.25], "learner1/sample_age": [1234.0], "learner1/loss": [0.75]},
    )
    async with open_app(fake, (160, 60)) as (app, pilot):
        await seen(app, "0.500 to 0.750")
        await pilot.press("w")
        await seen(app, " actor ", "lag  replay     age     loss  epsilon", "3/12    25 %   1,234    0.750")


async def test_curves_of_several_learners_have_their_names(fake, open_app):
    """Or their numbers; a metric that only one of them reports has no name after it."""
    fake.process(0, "learner", index=0, name=b"alice")
    fake.history(loss=[0.3, 0.2], **{"learner1/loss": [0.5, 0.4], "learner1/lag": [1.0, 1.0]})
    async with open_app(fake, (160, 40)) as (app, pilot):
        await pilot.press("l")
        await seen(app, "loss (alice)", "loss (learner 2)", " lag ")


async def test_the_footer_shows_the_use_of_the_machine(fake, open_app):
    """CPU, memory, a GPU if there is one, and the cost of the app."""
    fake.write("system", cores=2, cpu=150.0, rss=812 << 20, shm=1 << 20, pulse=time.time())
    async with open_app(fake) as (app, _):
        await seen(app, "150 % of 200 %", "812.0 MiB", "no GPU", "run toy-run", "ui ")
        fake.write(
            "system", gpus=1, gpu=87.0, vram=3 << 30, vram_total=16 << 30, gpu_name=b"Big One", pulse=time.time()
        )
        await seen(app, "87 % Big One", "3.0 GiB of 16.0 GiB")
        fake.write("system", gpu=float("nan"), gpu_name=b"Big One MIG 1g", pulse=time.time())
        await seen(app, "N/A Big One MIG 1g", "3.0 GiB of 16.0 GiB")


async def test_the_header_shows_why_no_step_is_made(fake, open_app):
    """While the policy learns, or an environment takes long, nothing else on the screen changes."""
    async with open_app(fake) as (app, _):
        await seen(app, "running")
        fake.write("system", learning=True, pulse=time.time() + 12.0)
        await seen(app, "learning for 12 s")
        fake.write("system", learning=False, pulse=time.time() + 300.0)
        await seen(app, "no step for 5 min")
        fake.say(phase=Phase.PAUSED)
        await seen(app, "paused")


async def test_a_policy_that_has_not_acted_yet_has_no_figures(fake, open_app):
    """Zeros would look like figures."""
    async with open_app(fake, (120, 40)) as (app, pilot):
        await pilot.press("1")
        await seen(app, "shown after the next action")


async def test_starting_is_shown_in_place_of_boards(fake, open_app):
    """With what is loading, for how long, and the progress."""
    fake.say(phase=Phase.STARTING, message=b"compiling kernels", progress=0.25, started=time.time() - 7200)
    async with open_app(fake) as (app, _):
        await seen(app, "starting", "compiling kernels", "25 %", " 2:0")
        fake.say(phase=Phase.RUNNING)
        await seen(app, "Env 1/8")


@pytest.mark.thorough
async def test_a_resized_terminal_is_filled_again(fake, open_app):
    """The boards have the scale that fits, and the edges the new width."""
    play(fake)
    async with open_app(fake, (200, 60)) as (app, pilot):
        await until(lambda: app.query_one("#grid").grid_layout is not None)
        await pilot.resize_terminal(80, 24)
        await until(lambda: app.query_one("#grid").grid_layout.scale.name == "half")
        await seen(app, " 8/8 ")
        assert {len(line) for line in screen_text(app).splitlines()} == {80}


@pytest.mark.thorough
async def test_a_solver_has_workers_and_iterations(fake, open_app):
    """In headings, tabs, footer, prompts and help; it has no episodes, and its curve has logarithmic axes."""
    units = Units("worker", "worker", "batch", "iteration", "it/s", "batches/s", "frames", episodes=False)
    goal = Figure("nash_conv", "NashConv", "chips per hand", log=True, better="lower")
    fake.facts = {"units": units, "figures": (goal, RETURN)}
    fake.restart(4)
    fake.history(nash_conv=[1 / (k + 1) for k in range(50)], utility=[0.1] * 50)
    async with open_app(fake, (120, 40)) as (app, pilot):
        await seen(app, "it/s(total)", "it/s(per-worker)", "batches/s", "Worker 1/4", " 1-9 worker", "NashConv")
        assert "Episodes" not in screen_text(app)
        await pilot.press("l")
        await seen(app, "NashConv, chips per hand", "0.0200", "iterations", "┴")
        fake.write("times", wall=2.0, steps=240, environment=1.9)
        fake.say()
        await pilot.press("t")
        await seen(app, "ms/batch  per worker batch")
        fake.process(0, pid=4242, end_env=3, cpu=12.0, rss=150 << 20)
        fake.process(1, pid=4343, first_env=3, end_env=4, cpu=12.0, rss=150 << 20)
        await pilot.press("w")
        await seen(app, "process     pid    workers    state batches/s", "1    4242        1-3", "2    4343          4")
        await pilot.press("e")
        await seen(app, "worker 1 to 4:")
        await pilot.press("escape", "question_mark")
        await seen(app, "Workers", "summary, worker")
        await pilot.press("escape", "p")
        await seen(app, "a worker has no episodes")
        await pilot.press("i")
        await seen(app, "already shows everything")


def body(app):
    """Return the text between the header and the footer."""
    return "\n".join(screen_text(app).split("\n")[2:-4])


async def next_page(app, pilot):
    """Turn to the next page; return its text when it is drawn."""
    before, page = body(app), app.painter.view.pages[0]
    await pilot.press("pagedown")
    await seen(app, f"page {page + 1}/")
    await until(lambda: body(app) != before)
    return body(app)


@pytest.mark.thorough
async def test_panels_without_room_are_on_the_next_page(runtime_directory, open_app):
    """All panels of a game can be seen on a small terminal, also while it is paused."""
    fake = FakeSession(runtime_directory, "autochess:players=8", 2)
    titles = [panel.title for panel in fake.task.panels if not panel.main]
    try:
        async with open_app(fake, (80, 24)) as (app, pilot):
            fake.say(phase=Phase.PAUSED)
            await pilot.press("1")
            await until(lambda: app.debugger.can_travel)
            await seen(app, "page 1/")
            shown = body(app)
            while app.painter.view.pages[0] < app.painter.view.pages[1]:
                shown += await next_page(app, pilot)
            for title in (*titles, "Episode", "Policy", "Reward", "Info", "Perf"):
                assert title in shown, title
    finally:
        fake.close()
