"""A recorded episode is shown, played, checked and exported."""

import errno
import json
import sys
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial

import av
import numpy as np
import PIL.Image
import PIL.ImageSequence
import pyte
import pytest

from pac.envs import BadParameter, find
from pac.training.past.episode import CHECKED, CHECKED_FIRST, CHECKED_LAST, Episode, RecordedStep, fingerprints_of, play
from pac.training.past.episode_file import read, write
from pac.training.past.rebuilding import rebuilt
from pac.training.playing import EvaluatedRun, play_episodes
from pac.training.telemetry.records import RECORDING, WAITING
from pac.training.trainer import Context, Timer
from pac.training.trainers import build_trainer, trainer_settings
from pac.tui.cli.commands import main
from pac.tui.dialogs.leave import LeaveDialog
from pac.tui.dialogs.lockstep import Lockstep
from pac.tui.replay.episode_session import EpisodeConnection, EpisodeSession
from pac.tui.replay.evaluation import EvaluationApp
from pac.tui.replay.export import SCREEN, export_episode
from pac.tui.replay.film_files import write_pictures
from pac.tui.replay.replay import ReplayApp
from pac.tui.replay.tracks import Film, Track
from pac.tui.terminal.raster import CannotExport

from ..fake_session import run, screen_text, seen, until


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """The file of a real episode, in which a pole falls to the right."""
    path = tmp_path_factory.mktemp("episodes") / "pole.jsonl"
    task = find("CartPole-v1")
    blank = Episode(task, 3, 1, 4, "a-run", replays=True, steps=(RecordedStep(None, 0.0, {}), *[right(task)] * 100))
    steps = []
    for index, (machine, step) in enumerate(zip(play(blank), blank.steps, strict=True)):
        ended = bool(machine.row("terminated")[0])
        names = CHECKED_FIRST if not index else CHECKED_LAST if ended else CHECKED
        steps.append(
            replace(step, reward=float(machine.row("reward")[0]), prints=fingerprints_of(task, names, machine.row))
        )
        if ended:
            break
    write(path, replace(blank, steps=tuple(steps)))
    return path


def right(task):
    """Return a push to the right."""
    return RecordedStep(np.ones((1, *task.action.shape), np.int64), 1.0, {})


@asynccontextmanager
async def opened(path, size=(100, 30)):
    """Run the app for a file, and wait until it shows the first state."""
    app = ReplayApp(EpisodeConnection(lambda: EpisodeSession(read(path), path)))
    async with run(app, size) as pilot:
        await until(lambda: app.debugger.moment is not None and app.debugger.moment.step == 0, "the first state")
        yield app, pilot


def is_shown(app, step):
    """Return whether this step is shown."""
    return app.debugger.moment is not None and app.debugger.moment.step == step


def has_text(app, text):
    """Return whether a text is on the screen."""
    return text in screen_text(app)


async def test_an_episode_is_shown_from_its_first_state(path):
    """With its name, the step, and the next action."""
    async with opened(path, (160, 40)) as (app, _):
        length = read(path).length
        await seen(app, f"{length} steps back at step 0")
        for text in ("CartPole-v1", "episode 5 of environment 2", "episode 5, step 0", "next: right", "replayed"):
            await until(partial(has_text, app, text), text)


@pytest.mark.thorough
async def test_keys_step_play_and_leave(path):
    """Arrows, n, End and Home go to steps; Space plays to the end, and then from the first state."""
    async with opened(path) as (app, pilot):
        length = read(path).length
        for key, step in (("right", 1), ("n", 2), ("left", 1), ("f", length), ("home", 0), ("end", length)):
            await pilot.press(key)
            await until(partial(is_shown, app, step), f"{key}: {step}")
        await seen(app, "episode ended: terminated")
        await pilot.press("space")
        await until(lambda: app.playing and app.debugger.moment is not None and 0 < app.debugger.moment.step < length)
        app.rate = 64.0
        await until(lambda: is_shown(app, length) and not app.playing)
        app.rate = 4.0
        await pilot.press("plus", "plus", "minus")
        assert app.rate == 8.0
        await pilot.press("q")
        await until(lambda: app.return_code == 0)


@pytest.mark.thorough
@pytest.mark.parametrize("size", [(100, 30), (80, 24)])
async def test_a_replay_shows_its_own_keys_and_nothing_of_learning(path, size):
    """An episode alone has no mean of returns to wait for, no speed, and no policy whose values were not recorded."""
    async with opened(path, size) as (app, _):
        await seen(app, "← → step  Space play  Home End first, last", "Env 1/1 ─", "at step 0")
        for text in ("waiting for the first", "Perf", "Policy", "Trainer"):
            assert text not in screen_text(app)


@pytest.mark.thorough
async def test_a_command_that_a_replay_cannot_do_is_refused(path):
    """The replay continues."""
    async with opened(path) as (app, pilot):
        await pilot.press("B")
        await seen(app, "cannot be changed")
        await pilot.press("i")
        await seen(app, "Observation")


@pytest.mark.thorough
def test_a_check_reports_that_the_episode_is_the_same(path, capsys):
    """With one sentence and exit code 0; also as JSON."""
    assert main(["replay", str(path), "--check"]) == 0
    assert "identical" in capsys.readouterr().out
    assert main(["replay", str(path), "--headless", "--json"]) == 0
    reported = json.loads(capsys.readouterr().out)
    assert reported["same"]
    assert reported["trajectory"] == read(path).trajectory


def test_a_check_names_the_first_difference(path, tmp_path, capsys):
    """By step and field, with exit code 1."""
    episode = read(path)
    steps = list(episode.steps)
    steps[3] = replace(steps[3], prints={**steps[3].prints, "reward": "00" * 8})
    other = tmp_path / "other.jsonl"
    write(other, replace(episode, steps=tuple(steps)))
    assert main(["replay", str(other), "--check"]) == 1
    assert "differs at step 3: reward" in capsys.readouterr().out
    assert main(["replay", str(other), "--json"]) == 1
    reported = json.loads(capsys.readouterr().out)
    assert (reported["same"], reported["step"], reported["field"]) == (False, 3, "reward")


def test_a_file_that_is_no_episode_is_refused(tmp_path, capsys):
    """With one sentence and exit code 2."""
    assert main(["replay", str(tmp_path / "none.jsonl"), "--check"]) == 2
    assert "cannot be read" in capsys.readouterr().err


@pytest.mark.thorough
def test_an_asciicast_shows_every_step(path, tmp_path):
    """It has a header, a first screen, and the changes of every step at increasing times."""
    target = tmp_path / "pole.cast"
    export_episode(read(path), path, target)
    header, *events = map(json.loads, target.read_text().splitlines())
    assert (header["version"], header["width"], header["height"]) == (2, *SCREEN)
    assert len(events) == read(path).length + 2
    assert "at step 0" in events[0][2]
    assert "at step 1" in events[1][2]
    assert [time for time, *_ in events] == sorted(time for time, *_ in events)


@pytest.mark.thorough
def test_a_gif_has_a_frame_for_every_step(path, tmp_path):
    """The frames differ."""
    images = pytest.importorskip("PIL.Image")
    target = tmp_path / "pole.gif"
    export_episode(read(path), path, target)
    with images.open(target) as image:
        assert image.n_frames == read(path).length + 1
        first = image.convert("RGB").tobytes()
        image.seek(5)
        assert image.convert("RGB").tobytes() != first


@pytest.mark.thorough
@pytest.mark.parametrize("suffix", [".gif", ".mp4", ".webm"])
def test_a_film_shows_every_step(path, tmp_path, suffix):
    """Decoded again, its pictures are nearly those that were drawn, and no other file remains."""
    target = tmp_path / f"pole{suffix}"
    assert main(["replay", str(path), "--video", str(target), "--fps", "10"]) == 0
    drawn = list(Film([Track.of([("", read(path))])]).pictures())
    assert len(drawn) == read(path).length + 1
    found = decoded(target)
    for one, other in zip(found, drawn, strict=False):
        height, width = other.shape[:2]
        assert np.abs(one[:height, :width].astype(int) - other).mean() < 3
    assert len(found) == len(drawn) + (0 if suffix == ".gif" else 19)
    assert [one.name for one in tmp_path.iterdir()] == [target.name]


def test_a_gif_of_few_colors_is_exact(tmp_path):
    """Every pixel of every picture."""
    colors = np.random.default_rng(0).integers(0, 256, (200, 3)).astype(np.uint8)
    drawn = [np.random.default_rng(index).choice(colors, (20, 30)) for index in range(4)]
    write_pictures(iter(drawn), tmp_path / "few.gif", 10)
    assert np.array_equal(decoded(tmp_path / "few.gif"), drawn)


def decoded(target):
    """Return the pictures of a film, `(H, W, 3)` each."""
    if target.suffix == ".gif":
        with PIL.Image.open(target) as image:
            return [np.asarray(frame.convert("RGB")) for frame in PIL.ImageSequence.Iterator(image)]
    with av.open(str(target)) as film:
        return [frame.to_ndarray(format="rgb24") for frame in film.decode(video=0)]


def test_a_film_has_what_is_rendered_in_full_size(path):
    """The board in the app is reduced; its caption says step, reward and action."""
    track = Track.of([("", read(path))], 1)
    first, second, *_ = track.shots()
    assert first.board.shape == (400, 600, 3)
    assert [piece.strip() for piece in second.caption] == ["step 1/9", "reward 1", "return 1", "action right"]


def test_a_film_in_characters_is_an_asciicast(path, tmp_path):
    """A terminal shows the first and the last step of two episodes side by side."""
    target = tmp_path / "pole.cast"
    assert main(["replay", str(path), str(path), "--video", str(target), "--fps", "10"]) == 0
    header, *events = map(json.loads, target.read_text().splitlines())
    assert header["version"] == 2
    assert all(isinstance(when, float) and kind == "o" and isinstance(text, str) for when, kind, text in events)
    assert [when for when, *_ in events] == sorted(when for when, *_ in events)
    screen = pyte.Screen(header["width"], header["height"])
    shown = pyte.Stream(screen)
    for event, step in ((events[0], 0), (events[-2], read(path).length)):
        shown.feed(event[2])
        assert "\n".join(screen.display).count(f"step {step}/9") == 2


def test_a_film_that_cannot_be_written_leaves_the_older_one(tmp_path, monkeypatch, capsys):
    """Nothing else remains, and the error says why; a missing library is named with its extra."""
    target = tmp_path / "pole.mp4"
    target.write_bytes(b"older")

    def pictures():
        yield np.zeros((32, 32, 3), np.uint8)
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(CannotExport, match="No space left"):
        write_pictures(pictures(), target, 4)
    assert target.read_bytes() == b"older"
    assert list(tmp_path.iterdir()) == [target]
    monkeypatch.setitem(sys.modules, "av", None)
    assert main(["replay", "none.jsonl", "--video", str(target)]) == 2
    assert "pac-tui[video]" in capsys.readouterr().err


@pytest.mark.session
def test_a_training_is_filmed(tmp_path, monkeypatch):
    """Its recorded episode while it runs, with the values; and the same episode as each checkpoint plays it."""
    monkeypatch.chdir(tmp_path)
    usual = ["--task", "CartPole-v1", "--num-envs", "8", "--set", "ppo.batch=512", "--name", "pole"]
    keeping = ["--steps", "1536", "--checkpoint-every", "1", "--keep", "every:1", "--record", "best", "--video"]
    assert main(["run", "--headless", *usual, *keeping]) == 0
    best = tmp_path / "runs" / "pole" / "episodes" / "best.jsonl"
    assert read(best).valued
    assert len(decoded(best.with_suffix(".mp4"))) > read(best).length
    assert main(["film", "pole", "film.cast", "--seed", "4"]) == 0
    text = (tmp_path / "film.cast").read_text()
    kept = [int(one.name.removeprefix("step-")) for one in best.parents[1].glob("checkpoints/step-*")]
    assert 1536 in kept
    assert all(f"after {step:,} steps" in text for step in kept)


async def test_a_key_makes_a_film(path, tmp_path, monkeypatch):
    """r writes it into the working directory, and says where it is."""
    monkeypatch.chdir(tmp_path)
    async with opened(path) as (app, pilot):
        await pilot.press("r")
        await until((tmp_path / "pole.mp4").exists, "the film")
        await seen(app, "saved")


def test_an_unknown_ending_is_refused(path, tmp_path):
    """The error lists the known ones."""
    with pytest.raises(BadParameter, match="--video writes films"):
        export_episode(read(path), path, tmp_path / "pole.mp4")


@pytest.mark.thorough
async def test_recording_is_requested_and_marked(fake, open_app):
    """r requests the next episode of the shown environment; its board shows that it waits, and that it records."""
    async with open_app(fake) as (app, pilot):
        await pilot.press("3", "r")
        await until(lambda: fake.commands == [("record", {"env": 2})])
        for state, sign in ((WAITING, "○ rec"), (RECORDING, "● rec")):
            with fake.writer.write("environments") as table:
                table["recording"][2] = state
            fake.say()
            await until(partial(has_text, app, sign))


async def test_the_episodes_of_an_evaluation_are_listed_best_first():
    """Enter replays the selected one, with the same return. A session that only plays saves nothing at its end."""
    task = find("CartPole-v1")
    settings = trainer_settings("ppo", task, {"hidden": 16})
    state = build_trainer("ppo", Context(task, settings, "cpu", 0, Timer())).policy_state()
    played = play_episodes("ppo", task, settings, state, episodes=5, seed=3, greedy=False, keep=True)
    app = EvaluationApp(EvaluatedRun({"run": "a-run"}, task, 3, played))
    async with run(app, (80, 24)) as pilot:
        await seen(app, "Episodes of a-run", "1 of 5", "best")
        app.push_screen(LeaveDialog("a run (playing)", watched=False, stops=True, plays=True))
        await seen(app, "stop: end the evaluation", "pac-tui attach 'a run (playing)'")
        await pilot.press("escape")
        await pilot.press("down", "enter")
    second = sorted(played, key=lambda episode: episode.returns)[-2]
    assert app.replay is not None
    assert app.replay.gained == second.returns[0]
    steps = played[app.replay.number - 1].steps
    assert steps is not None
    assert rebuilt(task, 3, steps.env, steps, "a-run").length == second.length


async def test_another_policy_is_asked_at_each_step(path):
    """`A` asks for its name; what it would do is beside what was done, which is certain if its policy is unknown."""
    async with opened(path) as (app, pilot):
        await pilot.press("A")
        await pilot.press(*"random", "enter")
        await until(lambda: isinstance(app.screen, Lockstep), "both")
        assert isinstance(app.screen, Lockstep)
        pairing = app.screen.view.pairing
        await until(lambda: pairing.length == read(path).length, "the whole episode")
        assert pairing.divergences[0] == pytest.approx(np.log(2))
        await pilot.press("q")
        await pilot.press("p")
        await until(partial(has_text, app, "the run of this episode is not known"), "the reason")


def test_a_recorded_episode_is_compared_without_the_app(path, capsys):
    """`--against` lists the steps at which both are most apart; --json has all of them."""
    assert main(["replay", str(path), "--against", "random", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert len(found["steps"]) == read(path).length
    assert found["steps"][0]["divergence"] == pytest.approx(np.log(2))
    assert found["policies"] == ["recorded", "random"]
    assert main(["replay", str(path), "--against", "random", "--check"]) == 0
    assert "The actions differ at" in capsys.readouterr().out
    assert main(["replay", str(path), "--policy", "one"]) == 2
