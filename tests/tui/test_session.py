"""The app over a real session in its own process."""

from contextlib import asynccontextmanager, suppress

import pytest

from pac.envs import PacError
from pac.training.config import Config
from pac.training.session.host import SessionFailed, launch
from pac.training.telemetry.records import Phase
from pac.tui.app.app import PacApp
from pac.tui.connections.connection import SessionConnection

from .fake_session import run, seen, until

pytestmark = pytest.mark.session


@pytest.fixture
def config(tmp_path):
    """Two environments that need neither PyTorch nor compilation."""
    return Config(task="CartPole-v1", trainer="random", backend="inline", num_envs=2, runs_dir=tmp_path)


@asynccontextmanager
async def opened(config, size=(120, 40)):
    """Yield an app with its session, the keys and their connection; none of them outlives a failure."""
    connection = SessionConnection(lambda: launch(config))
    app = PacApp(connection)
    try:
        async with run(app, size) as pilot:
            await seen(app, "Env 2/2")
            yield app, pilot, connection
    except BaseException:
        connection.kill()
        with suppress(PacError):
            connection.report()
        raise
    finally:
        connection.close()


async def leave(app, pilot):
    """End the session and the app."""
    await pilot.press("q", "enter")
    await until(lambda: app.return_code == 0)


async def test_keys_restart_measure_and_stop_a_session(config):
    """From the start over ], B and Space to q; the session ends and reports."""
    async with opened(config) as (app, pilot, connection):
        await pilot.press("right_square_bracket", "enter")
        await seen(app, "Env 3/3")
        await pilot.press("B")
        await until(lambda: app.state.phase is Phase.BASELINE)
        await until(
            lambda: (
                app.state.snapshot is not None and app.state.snapshot.efficiency is not None and app.state.num_envs == 3
            )
        )
        await pilot.press("space")
        await until(lambda: app.state.phase is Phase.PAUSED)
        steps = app.state.snapshot.state["steps"] if app.state.snapshot else 0
        await pilot.press("n")
        await until(lambda: app.state.snapshot is not None and app.state.snapshot.state["steps"] == steps + 3)
        await leave(app, pilot)
    assert connection.report()["restarts"] >= 1


async def test_the_end_of_an_episode_shows_its_last_state(config):
    """With its outcome; one step forward is the first state of the next episode."""
    async with opened(config, (160, 40)) as (app, pilot, connection):
        await pilot.press("2", "space")
        await until(lambda: app.state.phase is Phase.PAUSED)
        await pilot.press("f")
        await seen(app, "paused at step", "episode ended: terminated", "next episode")
        await pilot.press("right")
        await seen(app, "step 0", "next: ")
        await pilot.press("left")
        await seen(app, "episode ended: terminated")
        await leave(app, pilot)
    connection.report()


async def test_the_timing_view_shows_when_evaluations_run(tmp_path):
    """As a lane of the timeline, with the phase in its legend."""
    options = {"backend": "inline", "num_envs": 2, "device": "cpu", "runs_dir": tmp_path, "checkpoint_every": 0}
    config = Config.model_validate({"task": "CartPole-v1", "eval_every": 1, "eval_episodes": 1, **options})
    async with opened(config, (120, 60)) as (app, pilot, connection):
        await pilot.press("t")
        await seen(app, "Timeline", "evaluation ", "evaluating")
        await leave(app, pilot)
    connection.report()


async def test_a_killed_session_is_shown_as_failed(config):
    """After kill -9 the screen gives the reason, and q leaves with exit code 1."""
    async with opened(config) as (app, pilot, connection):
        connection.kill()
        await seen(app, "exited without reporting an error")
        await pilot.press("q")
        await until(lambda: app.return_code == 1)
    with pytest.raises(SessionFailed, match="without a report"):
        connection.report()
