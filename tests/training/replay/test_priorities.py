"""Prioritized sampling, compared with priorities in a dictionary."""

import numpy as np
import pytest

from pac.envs.fields import DECIDES
from pac.training.replay.kernels import NOT_KEPT, transition
from pac.training.replay.priorities import PrioritySettings

from .reference import ReferencePriorities
from .test_replay import World

SETTINGS = PrioritySettings(alpha=0.7, epsilon=0.01)


def world_of(seed: int, *, steps: int = 1, stack: int = 1, made: int = 0) -> World:
    return World(seed, slots=40, steps=steps, stack=stack, priorities=SETTINGS, made=made)


def known(world: World) -> dict[tuple[int, int], float]:
    """Return all priorities above 0 by position and row."""
    first, last = world.replay.window
    places = [(position, row) for position in range(first, last + 1) for row in range(world.rows)]
    priorities = world.replay._priorities
    assert priorities is not None
    found = {place: priorities.priority(*place) for place in places}
    assert np.count_nonzero(priorities.leaves) == np.count_nonzero(list(found.values()))
    return {place: priority for place, priority in found.items() if priority > 0}


def never(world: World, place: tuple[int, int]) -> bool:
    """Return whether a transition will never be possible, because its last observation is no longer kept."""
    replay = world.replay
    return transition(replay._ring, replay._walk, replay.head, *place, np.zeros(4)) == NOT_KEPT


@pytest.mark.thorough
@pytest.mark.parametrize(("steps", "stack"), [(1, 1), (3, 1), (2, 4)])
def test_priorities_are_those_of_a_dictionary(steps, stack):
    """While the window moves, errors are learned, and the ring is written again and again."""
    world, random = world_of(5, steps=steps, stack=stack), np.random.default_rng(1)
    reference = ReferencePriorities(alpha=0.7, epsilon=0.01)
    decisions = {0: np.flatnonzero(world.buffer["active"][0] == DECIDES).tolist()}
    given_up = 0
    for number in range(600):
        world.step()
        decisions[number + 1] = np.flatnonzero(world.buffer["active"][world.slot] == DECIDES).tolist()
        if number < 20 or number % 4:
            continue
        reference.follow(*world.replay.window, decisions)
        world.compare(8)
        batch = world.replay.sample(8)
        errors = random.exponential(2.0, 8)
        world.replay.learn_priorities(batch, errors)
        for place, error in zip(batch.places.tolist(), errors, strict=True):
            reference.learn(tuple(place), error)
        found, wanted = known(world), reference.priorities
        missing = wanted.keys() - found.keys()
        assert found.keys() <= wanted.keys()
        assert all(never(world, place) for place in missing)
        assert [found[place] for place in found] == pytest.approx([wanted[place] for place in found])
        for place in missing:
            del wanted[place]
        given_up += len(missing)
    assert given_up < 20


def test_transitions_are_drawn_in_proportion_to_their_priorities():
    """Their densities are their priorities, divided by the mean priority."""
    world, random = world_of(2), np.random.default_rng(1)
    for _ in range(50):
        world.step()
    for _ in range(40):
        batch = world.replay.sample(8)
        world.replay.learn_priorities(batch, random.exponential(2.0, 8))
    world.replay.sample(2_000)  # priorities of places without a transition become 0
    priorities = known(world)
    mean = np.mean(list(priorities.values()))
    batch = world.replay.sample(30_000)
    assert batch.densities is not None
    places, first, counts = np.unique(batch.places, axis=0, return_index=True, return_counts=True)
    expected = np.array([priorities[int(position), int(row)] for position, row in places])
    assert len(places) == len(priorities)
    assert counts / 30_000 == pytest.approx(expected / expected.sum(), rel=0.25)
    assert np.corrcoef(counts, expected)[0, 1] > 0.99
    assert batch.densities[first] == pytest.approx(expected / mean)


def test_a_replay_saved_without_priorities_begins_with_equal_ones():
    """A training can be resumed with prioritized sampling switched on."""
    one = World(4, slots=40, steps=1, stack=1, made=60)
    saved = one.replay.state(one.replay.mark())
    two = world_of(4)
    two.replay.load_state(saved)
    batch = two.replay.sample(16)
    assert batch.densities == pytest.approx(np.ones(16))
