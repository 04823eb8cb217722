"""What each view shows: whole screens of sessions that do not change, compared with the files in `snapshots/`."""

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest

from pac.backends.core.spans import WorkerSteps
from pac.backends.core.status import EnvStatus
from pac.envs import find
from pac.envs.unknown import UNKNOWN
from pac.training.telemetry.findings import Finding
from pac.training.telemetry.moments import MomentSource
from pac.training.telemetry.records import Level, Notice, Phase, Severity
from pac.training.telemetry.timeline import Timeline
from pac.training.telemetry.worker_times import WaitCounter, spans_of, write_times
from pac.training.trainer import Lap
from pac.training.units import RETURN, SOLVED, Figure

from .fake_session import CHESS, at_step, paused, play
from .stage import NOW

WIDE, USUAL, SMALL, SLIM, TINY = (200, 60), (120, 40), (80, 24), (40, 12), (20, 5)


def running(make, **facts):
    """A session that has run for a while, on a machine with a GPU."""
    fake = make()
    if facts:
        fake.facts = facts
        fake.restart(8)
    play(fake)
    with fake.writer.write("environments") as table:
        table["episode"][2], table["episode_return"][2], table["action"][2] = 41, 1.25, 3 * 128 + 9 * 8 + 2
        table["last_outcome"][2], table["last_return"][2], table["episode_length"][2] = 2, -0.75, 17
    with fake.writer.write("info") as info:
        info[2, 0] = 4
    with fake.writer.write("terms") as terms:
        terms[2] = (0.5, 1.0, 0.0)
    fake.write("policy", env=2, value=0.625, entropy=2.5, actions=(5, 130), probabilities=(0.7, 0.2))
    use = {"cores": 2, "cpu": 150.0, "rss": 812 << 20, "shm": 1 << 20, "pulse": NOW, "gpus": 1, "gpu": 87.0}
    fake.write("system", **use, vram=3 << 30, vram_total=16 << 30, gpu_name=b"Big One")
    return fake


def new(make):
    """A session that has just begun: no baseline, no outcomes, no curves, no policy."""
    fake = make()
    fake.write("system", cores=4, cpu=50.0, rss=1 << 30, gpus=1, gpu=UNKNOWN, vram_total=0, gpu_name=b"MIG", pulse=NOW)
    return fake


def boards(make):
    """Boards in every state, a second after two episodes have ended."""
    fake = running(make)
    with fake.writer.write("environments") as table:
        table["ended"][:2], table["last_outcome"][:2], table["last_return"][:2] = NOW - 0.1, (1, 2), (2.25, -0.75)
        table["status"][2], table["status"][3] = EnvStatus.HUNG, EnvStatus.DEAD
        table["notice"][4], table["notice"][5] = Notice.BREAK, Notice.PLAYED
    with fake.writer.write("outcomes") as outcomes:
        outcomes[:4] = 0, 3000, 9000, 1000
    fake.say(episodes=13000)
    return fake


def stopped(make):
    """A session that is paused."""
    fake = running(make)
    paused(fake)
    return fake


def past(make, **values):
    """A paused session whose step 99 is known."""
    fake = stopped(make)
    at_step(fake, "moment", 99, **{"source": MomentSource.REBUILT, "board:bottle": np.eye(16, 8), **values})
    return fake


def in_phase(phase, **values):
    """Return a maker of a session in a phase."""

    def made(make):
        fake = running(make)
        fake.say(phase=phase, **values)
        return fake

    return made


def learning(make):
    """A session that makes no step, since its policy learns."""
    fake = running(make)
    fake.write("system", learning=True, pulse=NOW + 12.0)
    return fake


def stuck(make):
    """A session that has made no step for five minutes."""
    fake = running(make)
    fake.write("system", pulse=NOW + 300.0)
    return fake


def watched(make):
    """A script that is watched, whose speed over N cannot be measured."""
    return running(make, watched=True)


def many(make):
    """More boards than fit."""
    return make(num_envs=300)


def ranks(make):
    """Three ranks of a training: the first waits for the second, the third has failed."""
    made = []
    for rank, waited in enumerate((3.0, 0.5, 1.0)):
        fake = running(make, rank=rank, ranks=3, host="box")
        fake.write("times", wall=10.0, steps=1000, environment=5.0, ranks=waited)
        made.append(fake)
    made[2].say(phase=Phase.FAILED, message=b"rank 0 of 3 has failed")
    made[0].others = made
    return made[0]


def ill(make):
    """A training with problems: one that lasts and is selected, a note, and one that is over."""
    fake = running(make)
    fake.history(**{"return_mean": [0.0, 1.0, 2.0], "loss/entropy": [2.0, 1.0, 0.1]})
    entropy = "the policy's entropy has collapsed to 0.1 nats, from 2 at first"
    scale = "rewards are about 250 in a step that pays one"
    slow = "throughput is 700/s, 30% below the median of 1,000/s"
    fake.findings(
        Finding(1, "throughput-fell", Severity.WARNING, slow, "look", 0.3, 0.2, 900, NOW - 900, NOW - 600),
        Finding(2, "reward-scale", Severity.NOTE, scale, "scale rewards", 250.0, 100.0, 2000, NOW - 400),
        Finding(
            3,
            "entropy-collapse",
            Severity.WARNING,
            entropy,
            "raise the entropy coefficient",
            0.05,
            0.15,
            12_345,
            NOW - 75,
            curve="loss/entropy",
        ),
    )
    return fake


def solver(make):
    """A solver, whose workers have no episodes."""
    fake = make()
    goal = Figure("nash_conv", "NashConv", "chips per hand", log=True, better="lower")
    fake.facts = {"units": SOLVED, "figures": (goal, RETURN)}
    fake.restart(4)
    fake.write("system", cores=4, cpu=50.0, rss=1 << 30, pulse=NOW)
    fake.history(nash_conv=[10 / 1.06**k for k in range(100)], utility=[0.1] * 100)
    fake.write("times", wall=2.0, steps=240, environment=1.9)
    for row, envs in enumerate(((0, 3), (3, 4))):
        fake.process(row, pid=4242 + row, first_env=envs[0], end_env=envs[1], cpu=12.0, rss=150 << 20)
    return fake


def unknown(make):
    """A solver whose metric is not known yet, since it depends on the size of the game."""
    fake = make()
    fake.facts = {"figures": (Figure("nash_conv", "NashConv"), Figure("regret", "Regret"))}
    fake.restart(8)
    return fake


def workers(make):
    """Workers, one of them dead, learners of two agents, and events of every level."""
    fake = running(make)
    fake.process(0, pid=4242, end_env=4, cpu=12.0, rss=150 << 20, rate=1234.0)
    fake.process(1, pid=4343, first_env=4, end_env=8, state=b"dead", restarts=2, error=b"ValueError: no such move")
    for row, name in ((2, b"alice"), (3, b"bob")):
        fake.process(row, "learner", index=row - 2, pid=5000 + row, name=name, device=b"cuda:1", rate=56.0)
    for level in Level:
        fake.event(level, f"{level.name.lower()}: worker {level + 1} was replaced")
    fake.event(Level.INFO, "a text that is longer than a line of a terminal with 80 columns has, and is cut at its end")
    fake.history(
        return_mean=list(np.linspace(-1, 1, 50)),
        fps=list(np.linspace(2000, 2500, 50)),
        sps=list(np.linspace(100, 125, 50)),
        loss=[0.5] * 50,
        **{"learner1/policy_lag": [12.0] * 50, "learner1/policy_lag_versions": [3.0] * 50},
        **{"learner1/replay_filled": [0.25] * 50, "learner1/sample_age": [1234.0] * 50},
        **{"learner1/loss": [0.75] * 50, "rate/done": [0.1] * 50, "overlap/efficiency": [1.874] * 50},
        **{"overlap/collector_idle": [0.03] * 50, "overlap/learner_idle": [0.11] * 50},
    )
    timeline = Timeline()
    timeline.add("training", lambda: [Lap("environment", 10.0, 10.25), Lap("learner", 10.25, 10.5)])
    timeline.add("learner 2", lambda: [Lap("all reduce", 10.1, 10.3), Lap("wait", 10.3, 10.5)])
    timeline.write(fake.writer)
    fake.say()
    return fake


def timeline(make):
    """Two workers with two environments each, of which the third is slow in every other step."""
    fake = running(make)
    lanes, found = Timeline(), []
    laps = [
        [Lap("inference", 10 + 0.1 * k, 10.02 + 0.1 * k), Lap("environment", 10.02 + 0.1 * k, 10.1 + 0.1 * k)]
        for k in range(6)
    ]
    lanes.add("training", lambda: [lap for step in laps for lap in step])
    lanes.add("evaluation", lambda: [Lap("evaluating", 10.1, 10.35), Lap("idle", 10.35, 10.6)])
    lanes.write(fake.writer)
    for worker in range(2):
        begins = np.array([[10.03 + 0.1 * k, 10.04 + 0.1 * k] for k in range(6)])
        ends = begins + 0.009
        ends[::2, 1] += 0.04 * worker
        begins[1::2, 1] += 0.02 * (1 - worker)
        ends[1::2, 1] += 0.03 * (1 - worker)
        columns = (np.rint(1e9 * part).astype(int) for part in (begins[:, 0] - 0.001, ends[:, 1] + 0.001, begins, ends))
        found.append(WorkerSteps(2 * worker, 0, np.arange(6), *columns))
    counter = WaitCounter()
    write_times(fake.writer, spans_of(found), counter.add(found), counter.slow())
    fake.say()
    return fake


def chess(make):
    """A task with panels of every kind and named actions."""
    fake = make(CHESS, 2)
    fake.board("board", np.arange(24).reshape(4, 6) % 2)
    fake.board("picture", np.arange(192).reshape(8, 8, 3))
    fake.board("screen", ord("a"))
    fake.board("forces", (0.5, -1.0))
    fake.board("numbers", (12.5, -0.25))
    with fake.writer.write("environments") as table:
        table["action"] = 2
    fake.say()
    return fake


def autochess(make):
    """A game with eight seats, many panels and a board of several layers."""
    fake = make("autochess:players=8", 4)
    play(fake)
    fake.say(phase=Phase.PAUSED)
    return fake


def autochess_past(make):
    """The same, after step 100 of environment 3, whose step 99 is known."""
    fake = autochess(make)
    fake.write("line", env=2, now=100, ends=[0] * 100, rewards=[0] * 100)
    for block, step in (("detail", 100), ("moment", 99)):
        fake.write(block, env=2, step=step, now=100, source=MomentSource.REBUILT, full=1)
    return fake


def over(make, **values):
    """A session that is paused at the end of an episode, whose last board is known."""
    fake = running(make)
    fake.board("bottle", 1)
    with fake.writer.write("line") as line:
        line["env"], line["now"], line["ends_count"], line["rewards_count"], line["ends"][99] = 2, 100, 100, 100, 1
    at_step(fake, "detail", 100, begun=1, acted=0, episode=5, episode_length=0)
    end = {"source": MomentSource.REBUILT, "end": 1, "outcome": 2, "decided": 0, "board:bottle": np.eye(16, 8)}
    at_step(fake, "moment", 100, **{**end, **values})
    fake.say(phase=Phase.PAUSED)
    return fake


def detailed(make):
    """A task with a panel that only the inspector shows, whose policy has not decided yet."""
    main, other = find("drmario").panels
    fake = make(replace(find("drmario"), panels=(main, replace(other, title="Details", detail=True))))
    at_step(fake, "detail", 100, decided=0, env=2)
    fake.write("action_counts")
    return fake


def printed(make):
    """A session and a worker that have printed, also an error and a control sequence."""
    fake = running(make)
    lines = "".join(f"line {number}\n" for number in range(30))
    (fake.directory / "session.log").write_text(f"{lines}UserWarning: careful\n\x1b[2Jclear\n{'long ' * 60}end\n")
    (fake.directory / "fleet-0a-2.log").write_text("ValueError: broken\n")
    return fake


def breakpoints(make):
    """A session with breakpoints, one of which has hit and one of which is off."""
    fake = running(make)
    with fake.writer.write("breakpoints") as block:
        for index, text in enumerate((b"reward < -5", b"ended", b"hung")):
            block[index] = (index + 1, index != 1, 3 if index == 0 else 0, 2 if index == 0 else -1, text)
    fake.say()
    return fake


def ended(make):
    """A session in which episodes have ended."""
    fake = running(make)
    rows = [(1, 0, 4, -0.5, 40, 1, 1), (2, 3, 0, 2.5, 55, 0, 2), (3, 0, 5, 0.25, 7, 1, 1), (4, 7, 9, -1.0, 20, 2, 1)]
    with fake.writer.write("episodes") as block:
        for index, row in enumerate(rows):
            block[index] = (*row, NOW - 10 * (4 - index))
    fake.say()
    return fake


def swept(make, **values):
    """A session whose speed over N was measured."""
    fake = running(make)
    fake.scaling(n1=100.0, n2=190.0, n4=300.0, n8=380.0)
    fake.say(**values)
    return fake


NOTHING = {"episode_length": -1, "episode_return": UNKNOWN}
MISSING = {
    "source": MomentSource.MISSING,
    "full": 0,
    "note": b"not deterministic: reward was 1, and is 2",
    **NOTHING,
}
REPLAYING = {"source": MomentSource.WORKING, "progress": 0.45}
FAILED = in_phase(Phase.FAILED, message=b"Worker failed: environment 3 raised ValueError: not the best of days")
STARTING = in_phase(Phase.STARTING, message=b"compiling kernels", progress=0.25, started=NOW - 7200)
SCREENS: dict[str, tuple[Any, ...]] = {
    "summary-wide": (running, WIDE, []),
    "summary": (running, USUAL, [], {"styles": True}),
    "summary-small": (running, SMALL, []),
    "summary-slim": (running, SLIM, []),
    "summary-new": (new, USUAL, []),
    "summary-many": (many, SMALL, ["pagedown"]),
    "summary-watched": (watched, USUAL, []),
    "summary-solver": (solver, USUAL, [], {"styles": True}),
    "summary-stopped": (stopped, SMALL, []),
    "summary-inspecting": (stopped, USUAL, ["i"], {"env": 2}),
    "summary-learners": (workers, WIDE, []),
    "summary-unknown": (unknown, SMALL, []),
    "workers-watched": (watched, SLIM, [], {"view": "workers"}),
    "environment-autochess-small": (autochess, SMALL, [], {"view": "environment"}),
    "environment-autochess-page-2": (autochess, SMALL, ["pagedown"], {"view": "environment"}),
    "environment-autochess-page-3": (autochess, SMALL, ["pagedown"] * 2, {"view": "environment"}),
    "environment-autochess-page-4": (autochess, SMALL, ["pagedown"] * 3, {"view": "environment"}),
    "boards": (boards, USUAL, [], {"styles": True}),
    "boards-small": (boards, SMALL, []),
    "starting": (STARTING, USUAL, []),
    "failed": (FAILED, USUAL, []),
    "failed-environment": (FAILED, SMALL, [], {"view": "environment", "env": 2}),
    "learning-header": (learning, SMALL, []),
    "stuck-header": (stuck, SMALL, []),
    "environment-wide": (running, WIDE, [], {"view": "environment", "env": 2}),
    "environment": (running, USUAL, [], {"view": "environment", "env": 2, "styles": True}),
    "environment-small": (running, SMALL, [], {"view": "environment", "env": 2}),
    "environment-new": (new, USUAL, [], {"view": "environment"}),
    "environment-stopped": (stopped, USUAL, [], {"view": "environment", "env": 2, "styles": True}),
    "environment-stopped-small": (stopped, SMALL, [], {"view": "environment", "env": 2}),
    "environment-past": (past, USUAL, ["left"], {"view": "environment", "env": 2, "styles": True}),
    "past-small": (past, SMALL, ["left"], {"view": "environment", "env": 2}),
    "past-end": (partial(past, end=1, outcome=1), SMALL, ["left"], {"view": "environment", "env": 2}),
    "past-missing": (partial(past, **MISSING), USUAL, ["left"], {"view": "environment", "env": 2}),
    "past-replaying": (partial(past, **REPLAYING), SMALL, ["left"], {"view": "environment", "env": 2}),
    "last-state": (over, USUAL, [], {"view": "environment", "env": 2}),
    "last-state-next": (over, USUAL, ["right"], {"view": "environment", "env": 2}),
    "last-state-missing": (partial(over, **MISSING), USUAL, [], {"view": "environment", "env": 2}),
    "environment-detailed": (detailed, USUAL, [], {"view": "environment", "env": 2}),
    "environment-autochess-past": (autochess_past, USUAL, ["left"], {"view": "environment", "env": 2}),
    "environment-chess": (chess, USUAL, [], {"view": "environment"}),
    "environment-chess-wide": (chess, WIDE, [], {"view": "environment"}),
    "environment-autochess": (autochess, WIDE, [], {"view": "environment"}),
    "inspector-wide": (stopped, WIDE, ["i"], {"view": "environment", "env": 2}),
    "inspector": (detailed, USUAL, ["i"], {"view": "environment", "env": 2}),
    "inspector-details": (detailed, USUAL, ["i", "pagedown"], {"view": "environment", "env": 2}),
    "inspector-small": (stopped, SMALL, ["i"], {"view": "environment", "env": 2}),
    "inspector-small-page-2": (stopped, SMALL, ["i", "pagedown"], {"view": "environment", "env": 2}),
    "inspector-small-page-3": (stopped, SMALL, ["i", "pagedown", "pagedown"], {"view": "environment", "env": 2}),
    "inspector-slim": (stopped, SLIM, ["i"]),
    "timing-wide": (workers, WIDE, [], {"view": "timing"}),
    "timing": (workers, USUAL, [], {"view": "timing", "styles": True}),
    "timing-small": (running, SMALL, [], {"view": "timing"}),
    "timing-slim": (running, SLIM, [], {"view": "timing"}),
    "timeline": (timeline, USUAL, [], {"view": "steps", "styles": True}),
    "timeline-cursor": (timeline, SMALL, ["left", "left"], {"view": "steps"}),
    "timeline-range": (timeline, USUAL, ["left", "enter", *["shift+right"] * 4], {"view": "steps"}),
    "timeline-empty": (running, SMALL, [], {"view": "steps"}),
    "timing-solver": (solver, USUAL, [], {"view": "timing"}),
    "learning-wide": (workers, WIDE, [], {"view": "learning"}),
    "learning": (running, USUAL, [], {"view": "learning", "styles": True}),
    "learning-small": (running, SMALL, [], {"view": "learning"}),
    "learning-seconds": (running, SMALL, ["x"], {"view": "learning"}),
    "learning-cursor": (running, USUAL, ["up", "S", "S", "left", "left"], {"view": "learning"}),
    "learning-log": (running, USUAL, ["y"], {"view": "learning"}),
    "learning-solver": (solver, USUAL, [], {"view": "learning"}),
    "diagnosis-nothing": (running, SLIM, [], {"view": "diagnosis"}),
    "diagnosis-small": (ill, SMALL, [], {"view": "diagnosis"}),
    "diagnosis": (ill, USUAL, [], {"view": "diagnosis", "styles": True}),
    "diagnosis-wide": (ill, WIDE, ["down"], {"view": "diagnosis"}),
    "summary-ill": (ill, USUAL, []),
    "workers-wide": (workers, WIDE, [], {"view": "workers"}),
    "workers": (workers, USUAL, [], {"view": "workers", "styles": True}),
    "workers-small": (workers, SMALL, [], {"view": "workers"}),
    "workers-solver": (solver, USUAL, [], {"view": "workers"}),
    "members-wide": (ranks, WIDE, [], {"view": "members"}),
    "members": (ranks, USUAL, [], {"view": "members", "styles": True}),
    "members-small": (ranks, SMALL, [], {"view": "members"}),
    "summary-rank": (ranks, SMALL, []),
    "output": (printed, USUAL, [], {"view": "logs", "styles": True}),
    "output-shifted": (printed, SMALL, ["up", *["right"] * 20], {"view": "logs"}),
    "output-search": (printed, SMALL, ["slash", *"line 1", "enter"], {"view": "logs"}),
    "output-watched": (watched, SLIM, [], {"view": "logs"}),
    "help": (running, USUAL, ["question_mark"], {"styles": True}),
    "help-small": (watched, SMALL, ["question_mark"]),
    "help-solver": (solver, SMALL, ["question_mark"]),
    "leave": (running, SMALL, ["q"]),
    "leave-watched": (watched, SLIM, ["q"]),
    "settings": (running, SMALL, ["comma"]),
    "breakpoints": (breakpoints, USUAL, ["b", "down"], {"styles": True}),
    "episodes": (ended, USUAL, ["E", "down"], {"styles": True}),
    "episodes-small": (ended, SMALL, ["E", "right", "space"]),
    "curve-list": (running, SMALL, ["C", "space", "down"], {"view": "learning"}),
    "palette": (watched, USUAL, ["ctrl+p"], {"styles": True}),
    "sweep": (swept, USUAL, ["v"], {"styles": True}),
    "palette-end": (running, SMALL, ["ctrl+p", *["pagedown"] * 6]),
    "palette-search": (running, SMALL, ["ctrl+p", *"runs open"]),
    "palette-unavailable": (watched, SMALL, ["ctrl+p", *"by hand"]),
    "episodes-none": (running, SMALL, ["E"]),
    "sweep-without-baseline": (partial(swept, baseline=UNKNOWN), USUAL, ["v"]),
    "sweep-new": (new, USUAL, ["v"]),
    "play-by-hand": (chess, USUAL, ["p"], {"view": "environment"}),
    "prompt": (solver, SMALL, ["e"]),
}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.thorough] if keys or size != USUAL else [])
        for name, (_, size, keys, *_) in sorted(SCREENS.items(), key=lambda item: item[1][1])
    ],
)
def test_the_screen_is_as_stored(name, still, stage, stored):
    """Each view and dialog, at the sizes at which it differs."""
    session, size, keys, *options = SCREENS[name]
    stored(name, stage.screen(session(still), size, *keys, **(options[0] if options else {})))


def test_a_view_that_was_hidden_shows_nothing_of_what_it_showed_before(still, stage):
    """Also if it has fewer rows than before."""
    alone = stage.screen(solver(still), USUAL, view="timing")
    stage.screen(workers(still), USUAL, view="timing")
    stage.screen(running(still), USUAL, view="summary")
    assert stage.screen(solver(still), USUAL, view="timing") == alone


@pytest.mark.thorough
def test_the_output_is_that_of_the_shown_session(still, stage):
    """Also after another session was shown."""
    for text in ("one", "two"):
        fake = still()
        (fake.directory / "session.log").write_text(f"printed {text}\n")
        assert f"printed {text}" in stage.screen(fake, SMALL, view="logs")


@pytest.mark.thorough
@pytest.mark.parametrize("size", [SLIM, TINY])
def test_everything_is_drawn_in_terminals_in_which_nothing_fits(size, still, stage):
    """Each view and each dialog, down to a terminal of five lines."""
    fake = workers(still)
    for view in ("summary", "environment", "timing", "learning", "workers", "logs"):
        stage.screen(fake, size, "i", "i", view=view)
    for keys in ("question_mark", "q", "comma", "b", "E", "C", "ctrl+p", "v", "p", "e"):
        stage.screen(fake, size, keys, "down")
