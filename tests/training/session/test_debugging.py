"""Debugging steps that were counted: breakpoints, episode ends, evidence and the history."""

import math

import pytest

from pac.training.past.recorder import EpisodeRecorder
from pac.training.session.debugging import Debugger
from pac.training.session.gate import Gate
from pac.training.session.viewers import View
from pac.training.telemetry.counts import Counts
from pac.training.telemetry.events import EventLog
from pac.training.telemetry.records import WAITING, Notice
from pac.training.telemetry.step_results import StepReader
from pac.training.telemetry.throughput import TrainingClock

from .source import TASK, N, Policy, Source


class Debugged:
    """A debugger, its source, and what it reported."""

    def __init__(self, folder):
        self.gate, self.view, self.counts, self.source = Gate(folder), View(), Counts(TASK), Source()
        self.reader = StepReader(TASK, self.source.buffer)
        self.breaks: list[tuple[str, int]] = []
        report = {
            "on_breakpoint": lambda text, env: self.breaks.append((text, env)),
        }
        self.debugger = Debugger(TASK, self.view, self.counts, TrainingClock(), self.gate, **report)
        self.counts.resize(N)
        self.debugger.resize(N)
        self.debugger.begin(self.source)

    def step(self, **fields):
        """Make a step, count it and check breakpoints, as a monitor does."""
        self.source.step(**fields)
        order = self.source.buffer.order
        (span,) = order.since(order.head - 1)
        self.reader.request(
            span,
            newest=self.debugger.breakpoints.fields,
            recorded=self.debugger.recorded,
            states=self.debugger.expect(1),
            values=self.debugger.values(span.acted),
        )
        (results,) = self.reader.delivered()
        self.counts.add(results)
        self.debugger.observe(results)


@pytest.fixture
def debugged(tmp_path):
    return Debugged(tmp_path)


def test_a_breakpoint_reports_where_it_hits(debugged):
    """Once, though the condition stays true in the same episode; the environment is marked until the next step."""
    debugged.debugger.breakpoints.add("reward > 1", N)
    assert debugged.debugger.needs_every_step
    debugged.step()
    debugged.step(reward=[0, 0, 3, 0])
    assert debugged.debugger.columns(N)["notice"].tolist() == [0, 0, Notice.BREAK, 0]
    debugged.step(reward=[0, 0, 3, 0])
    assert not debugged.debugger.columns(N)["notice"].any()
    assert debugged.breaks == [("break: env 3: reward > 1 (reward 3)", 2)]


def test_a_breakpoint_reads_the_policy(debugged):
    """Its entropy is that of the trainer; without a trainer it is not known."""
    debugged.debugger.breakpoints.add("entropy > 1", N)
    debugged.step()
    assert not debugged.breaks
    debugged.debugger.policy = Policy()
    debugged.step()
    assert debugged.breaks[0][1] == 0


def test_the_gate_closes_at_the_end_of_the_awaited_episode(debugged):
    """Ends of other environments do not close it, and it closes once."""
    debugged.debugger.run_to_end_of_episode(1)
    assert debugged.debugger.needs_every_step
    debugged.step(terminated=[1, 0, 0, 0])
    assert not debugged.gate.paused
    debugged.step(truncated=[0, 1, 0, 0])
    assert debugged.gate.paused
    assert not debugged.debugger.needs_every_step


def test_a_problem_marks_its_environment_until_the_episode_ends(debugged):
    """A reward that is NaN is checked at once."""
    debugged.step(episode_return=[0, 0, 0, math.nan])
    assert debugged.debugger.diagnosis.budget.due
    assert debugged.debugger.columns(N)["notice"].tolist() == [0, 0, 0, Notice.ALARM]
    debugged.step(terminated=[0, 0, 0, 1])
    assert not debugged.debugger.columns(N)["notice"].any()


def test_a_recording_is_shown_with_its_environment(debugged, tmp_path):
    """From the request on."""
    assert not debugged.debugger.columns(N)["recording"].any()
    debugged.debugger.recorder = EpisodeRecorder(TASK, 0, "run", tmp_path, EventLog())
    debugged.debugger.recorder.want(1)
    assert debugged.debugger.columns(N)["recording"].tolist() == [0, WAITING, 0, 0]
