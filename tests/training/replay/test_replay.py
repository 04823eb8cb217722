"""Transitions sampled from a ring, compared with a replay that stores each one with both observations."""

import numpy as np
import pytest

from pac.backends.core.layout import Layout
from pac.backends.workers.supervised import AbsentRows
from pac.envs import BadParameter, Task
from pac.envs.fields import DECIDES, OUT, PLAYED, WAITS
from pac.training.replay import settings
from pac.training.replay.batches import Transitions
from pac.training.replay.kernels import FINAL, NOTHING, UNFINISHED, transition
from pac.training.replay.priorities import PrioritySettings
from pac.training.replay.replay import NothingToSample, Replay
from pac.training.replay.settings import ReplaySettings

from ...toys import toy
from .reference import ReferenceReplay

GAMMA = 0.9
WRITTEN = ("reward", "terminated", "truncated", "final_observation", "observation", "active")


def task_of(players: int) -> Task:
    """A task with small observations of bytes."""
    return toy("uint8", (2,), num_actions=5, players=players, masked=True)


class World:
    """Environments that write random but possible results into a ring, and into the reference."""

    def __init__(
        self,
        seed: int,
        *,
        num_envs: int = 2,
        players: int = 2,
        slots: int,
        steps: int,
        stack: int,
        priorities: PrioritySettings | None = None,
        waiting: float = 0.3,
        trouble: float = 0.0,
        made: int = 0,
    ) -> None:
        self.waiting, self.trouble = waiting, trouble
        self.absent: dict[int, AbsentRows] = {}
        self.random = np.random.default_rng(seed)
        self.task = task_of(players)
        self.buffer = Layout(self.task, num_envs, slots, ring=True).map()
        self.rows, self.players = num_envs * players, players
        settings = ReplaySettings(1, steps=steps, stack=stack, gamma=GAMMA, priorities=priorities)
        self.replay = Replay(self.task, self.buffer, settings, seed)
        self.reference = ReferenceReplay(self.rows, steps=steps, stack=stack, gamma=GAMMA)
        self.slots, self.slot = slots, 0
        self.buffer["episode"][0] = 0
        self.observe()
        self.buffer["active"][0] = self.some_active()
        self.replay.add()
        self.reference.begin(self.buffer["observation"][0], self.buffer["active"][0])
        for _ in range(made):
            self.step()

    def observe(self) -> None:
        """Write new observations into the current slot."""
        self.buffer["observation"][self.slot] = self.random.integers(0, 256, (self.rows, 2))

    def some_active(self) -> np.ndarray:
        """Return which seats decide and which wait."""
        return np.where(self.random.random(self.rows) < self.waiting, WAITS, DECIDES).astype(np.uint8)

    def step(self) -> None:
        """Make one step: some seats decide, some die, some episodes end, are truncated, or both."""
        random, buffer, rows = self.random, self.buffer, self.rows
        if self.trouble:
            self.interrupt()
        before, slot = self.slot, (self.slot + 1) % self.slots
        buffer["action"][before] = random.integers(0, 5, rows)
        buffer["reward"][slot] = random.integers(-3, 4, rows)
        ends = np.repeat(random.random(rows // self.players) < 0.12, self.players)
        cut = ends & np.repeat(random.random(rows // self.players) < 0.5, self.players)
        out = (buffer["active"][before] == OUT) | (random.random(rows) < 0.03)
        both = ends & (random.random(rows) < 0.2)
        buffer["terminated"][slot], buffer["truncated"][slot] = ends & ~cut | both, cut | both
        final = random.integers(0, 256, (rows, 2)).astype(np.uint8)
        buffer["final_observation"][slot][ends] = final[ends]
        self.slot = slot
        self.observe()
        buffer["active"][slot] = np.where(out & ~ends, OUT, self.some_active())
        for env, absent in self.absent.items():
            absent.returning = bool(random.random() < 0.3)
            absent.fill(before)
            ends[env * self.players : (env + 1) * self.players] = absent.returning
            if absent.returning:
                span = slice(env * self.players, (env + 1) * self.players)
                buffer["observation"][slot, span] = random.integers(0, 256, (self.players, 2))
                buffer["active"][slot, span] = DECIDES
        self.absent = {env: absent for env, absent in self.absent.items() if not absent.returning}
        buffer["episode"][0] += ends[:: self.players]
        self.replay.add()
        written = {name: buffer[name][slot] for name in WRITTEN}
        self.reference.step(buffer["action"][before], written, began=ends)

    def interrupt(self) -> None:
        """Sometimes let a person choose the action of a seat, and sometimes lose the worker of an environment."""
        random, buffer, slot = self.random, self.buffer, self.slot
        row = int(random.integers(self.rows))
        if random.random() < self.trouble and buffer["active"][slot, row] == DECIDES:
            buffer["active"][slot, row] = PLAYED
            if not buffer["terminated"][slot, row] and not buffer["truncated"][slot, row]:
                buffer["truncated"][slot, row] = 1
            self.reference.play(row)
        env = int(random.integers(self.rows // self.players))
        if random.random() < self.trouble and env not in self.absent:
            self.absent[env] = AbsentRows(self.task, self.buffer, env, env + 1, slot)
            self.reference.lose(range(env * self.players, (env + 1) * self.players))

    def compare(self, count: int) -> int:
        """Compare sampled transitions with the reference; return how many were truncated."""
        batch = self.replay.sample(count)
        first, last = self.replay.window
        stack = batch.observations.reshape(count, -1, 2)
        following = batch.following.reshape(count, -1, 2)
        truncated = 0
        for index, (position, row) in enumerate(batch.places):
            assert first <= position <= last
            frames, action, total, discount, after = self.reference.transitions[int(position), int(row)]
            assert tuple(frame.tobytes() for frame in stack[index]) == frames
            assert batch.actions[index] == action
            assert batch.rewards[index] == pytest.approx(total, abs=1e-5)
            assert batch.discounts[index] == pytest.approx(discount, abs=1e-6)
            if after is not None:
                assert tuple(frame.tobytes() for frame in following[index]) == after
            truncated += after is not None and position == last
        return truncated


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("players", "steps", "stack"), [(1, 1, 1), (2, 1, 1), (2, 3, 1), (2, 1, 4), (3, 5, 3), (1, 2, 2)]
)
def test_transitions_are_those_of_a_replay_that_stores_both_observations(players, steps, stack):
    """With waiting and eliminated seats, truncations, n steps and stacks, while the ring is written again and again."""
    world = World(5, players=players, slots=40, steps=steps, stack=stack)
    for number in range(300):
        world.step()
        if number > 20 and number % 5 == 0:
            world.compare(8)
    assert world.replay.missing == 0


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(8))
def test_transitions_of_many_steps_and_shapes(seed):
    """The same over 3,000 steps, for rings, steps and stacks of many sizes, with lost workers and played seats."""
    random = np.random.default_rng(seed)
    players, steps, stack = (int(number) for number in random.integers(1, 5, 3))
    slots = int(random.integers(steps + stack + 30, 90))
    world = World(seed, players=players, slots=slots, steps=steps, stack=stack, trouble=0.02)
    for number in range(3_000):
        world.step()
        if number > 20 and number % 7 == 0:
            world.compare(4)


def test_every_transition_of_the_window_is_drawn_equally_often():
    """And none outside it."""
    world = World(2, players=2, slots=20, steps=1, stack=1, made=50)
    first, last = world.replay.window
    possible = {place for place in world.reference.transitions if first <= place[0] <= last}
    batch = world.replay.sample(20_000)
    places, counts = np.unique(batch.places, axis=0, return_counts=True)
    assert {(int(position), int(row)) for position, row in places} == possible
    assert counts.min() > 0.8 * counts.mean()
    assert counts.max() < 1.2 * counts.mean()


def test_a_truncation_whose_last_observation_is_no_longer_kept_is_not_sampled(monkeypatch):
    """It is counted, and others are sampled instead; only of large observations, not all last ones are kept."""
    monkeypatch.setattr(settings, "ALL_FINALS", 0)
    world = World(3, players=1, slots=256, steps=1, stack=1, made=300)
    assert world.replay.sample(2_000).places.shape == (2_000, 2)
    assert world.replay.missing > 0


def test_a_successor_that_is_not_written_yet_is_not_found():
    """The search ends at the head."""
    world = World(3, players=1, slots=30, steps=1, stack=1, made=10)
    replay = world.replay
    numbers = np.zeros(4)
    ends = [transition(replay._ring, replay._walk, replay.head, replay.head - 1, row, numbers) for row in range(2)]
    assert ends == [UNFINISHED, UNFINISHED]
    assert {NOTHING, FINAL}.isdisjoint(ends)


def test_an_empty_replay_is_a_clear_error():
    """Before the first decision has a successor, nothing can be sampled."""
    world = World(3, slots=30, steps=1, stack=1)
    with pytest.raises(NothingToSample, match="collect more decisions"):
        world.replay.sample(1)


def test_a_replay_that_is_too_small_is_refused():
    """It must hold the n steps and the k frames of a transition."""
    with pytest.raises(BadParameter, match="at least 64 transitions of 8 rows, got 40"):
        ReplaySettings(40, steps=3, stack=3).slots(8)


def test_the_same_seed_draws_the_same_transitions():
    """Sampling is a function of seed and steps."""
    batches = []
    for _ in range(2):
        world = World(7, slots=30, steps=2, stack=2, made=60)
        batches.append(world.replay.sample(32))
    assert np.array_equal(batches[0].places, batches[1].places)
    assert np.array_equal(batches[0].following, batches[1].following)


@pytest.mark.thorough
@pytest.mark.parametrize("priorities", [None, PrioritySettings(alpha=0.7, epsilon=0.01)], ids=["even", "prioritized"])
@pytest.mark.parametrize("written", [25, 60, 133])
def test_a_saved_replay_continues_as_if_it_had_not_been_saved(written, priorities):
    """Wherever its newest position is in the ring, and although more was written and learned before it was saved."""
    settings = ReplaySettings(1, steps=2, stack=3, gamma=GAMMA, spare=5, priorities=priorities)

    def new_world() -> World:
        world = World(4, slots=40, steps=2, stack=3)
        world.replay = Replay(world.task, world.buffer, settings, 4)
        return world

    def learned(world: World) -> Transitions:
        world.step()
        batch = world.replay.sample(16)
        world.replay.learn_priorities(batch, batch.rewards**2)
        return batch

    def world_at(count: int) -> World:
        world = new_world()
        world.replay.add()
        for step in range(count):
            learned(world) if step > 20 else world.step()
        return world

    saving, expected, resumed = world_at(written), world_at(written), new_world()
    mark, generator = saving.replay.mark(), saving.replay.generator()
    for _ in range(settings.spare):
        learned(saving)
    saved = saving.replay.state(mark)

    for name in ("observation", "active", "action_mask"):
        resumed.buffer[name][0] = expected.buffer[name][expected.slot]
    resumed.replay.add()
    resumed.replay.load_state(saved)
    assert resumed.replay.filled == min(expected.replay.filled, (40 - settings.spare) / 40)
    resumed.replay.set_generator(generator)
    resumed.random.bit_generator.state = expected.random.bit_generator.state
    for _ in range(30):
        found, wanted = learned(resumed), learned(expected)
        for name in ("observations", "actions", "rewards", "discounts"):
            assert np.array_equal(getattr(found, name), getattr(wanted, name)), name
        after = wanted.discounts > 0
        assert np.array_equal(found.following[after], wanted.following[after])


@pytest.mark.thorough
@pytest.mark.parametrize("steps", [1, 2])
def test_the_frames_that_two_stacks_share_are_copied_once(steps):
    """If no seat waits; they are those of the slow replay, also at the ends of episodes."""
    world = World(3, players=1, slots=60, steps=steps, stack=4, waiting=0.0)
    shared = 0
    for number in range(200):
        world.step()
        if number > 20:
            world.compare(8)
            shared += world.replay.sample(4).frames is not None
    assert shared > 20


def test_the_frames_of_seats_that_wait_are_copied_for_each_stack():
    """The stack after a transition then has others than that before."""
    world = World(3, players=2, slots=60, steps=1, stack=4, made=200)
    batch = world.replay.sample(32)
    assert batch.frames is None
    assert not np.shares_memory(batch.observations, batch.following)
