"""What is drawn of a watched environment, and that drawing leaves no trace."""

import random
import signal
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector.utils import batch_space

from pac.envs import Field
from pac.envs.signals import deferred_signals
from pac.envs.spaces.drawing import picture_in, wrapped
from pac.envs.task import LIMITED, LIMITED_LARGE, allocate
from pac.training.watching.boards import WatchedBoards, renew
from pac.training.watching.observations import ObservationParts, row_of
from pac.training.watching.rendering import render_of_env, render_of_rows
from pac.training.watching.task import WatchedActions, describe_script

SPACES: dict[str, Any] = {
    "endless": spaces.Box(-np.inf, np.inf, (3,)),
    "half": spaces.Box(-1, 1, (2, 2), np.float16),
    "double": spaces.Box(-1e300, 1e300, (2,), np.float64),
    "long": spaces.Box(-(2**62), 2**62, (2,), np.int64),
    "number": spaces.Box(0, 1, ()),
    "empty": spaces.Box(0, 1, (0,)),
    "image": spaces.Box(0, 255, (96, 96, 3), np.uint8),
    "stack": spaces.Box(0, 255, (4, 84, 84), np.uint8),
    "shades": spaces.Box(0, 1, (64, 64, 3)),
    "from -1": spaces.Discrete(3, start=-1),
    "very many": spaces.Discrete(2**40),
    "several": spaces.MultiDiscrete([3, 2, 5]),
    "grid": spaces.MultiDiscrete(np.full((4, 5), 3)),
    "bits": spaces.MultiBinary((3, 3)),
    "text": spaces.Text(20),
    "tuple": spaces.Tuple((spaces.Discrete(2), spaces.Box(0, 1, (2,)))),
    "dict": spaces.Dict(
        {"b": spaces.Dict({"z": spaces.Discrete(2), "a": spaces.Text(5)}), "a": spaces.Box(0, 1, (1,))}
    ),
    "sequence": spaces.Sequence(spaces.Box(0, 1, (2,))),
    "graph": spaces.Graph(spaces.Box(0, 1, (2,)), spaces.Discrete(3)),
    "either": spaces.OneOf((spaces.Discrete(2), spaces.Box(0, 1, (2,)))),
}


def log_of(observation: Any, action: Any = None) -> Any:
    """Return what a board asks a step log."""
    return SimpleNamespace(observation=lambda _env: observation, last_action=lambda _env: action)


@pytest.mark.parametrize("name", SPACES)
def test_observations_of_every_space_are_drawn_or_left_out(name):
    """Whatever they are, and also if they change their shape."""
    space = SPACES[name]
    space.seed(1)
    boards = WatchedBoards(None, space.sample())
    task = describe_script("toy", WatchedActions(spaces.Discrete(2)), boards)
    buffers = allocate(task, 2)
    for _ in range(10):
        buffers["looked_at"][:] = 1
        seen = space.sample()
        boards.draw(buffers, log_of(seen), spare=np.inf)
        assert boards.parts.numbers(seen).shape == boards.parts.field.shape
        if boards.look():
            task = replace(task, **boards.facts)
            renew(buffers, (*task.boards, *task.last_boards), 2)
    assert not any(np.isnan(board).any() for board in buffers.values() if board.dtype.kind == "f")


@pytest.mark.parametrize("name", SPACES)
def test_actions_of_every_space_are_read_or_unknown(name):
    """Also those that are not in it."""
    space = SPACES[name]
    space.seed(1)
    actions = WatchedActions(space)
    task = describe_script("toy", actions, WatchedBoards(None, np.zeros(2)))
    item = next(item for item in task.fields if item.name == "action")
    assert task.num_actions <= 4096
    if actions.reads:
        batch = batch_space(space, 3).sample()
        flat = np.reshape(batch if actions.flatten is None else actions.flatten(batch), (1, 3, -1))
        assert actions.read(flat).shape == (1, 3, *item.shape)
        assert actions.read(np.full((1, 3, 1), 1e30)).shape == (1, 3, *item.shape)


def test_choices_have_their_own_numbers():
    """A number that is no choice is unknown."""
    actions = WatchedActions(spaces.Discrete(3, start=-1))
    assert actions.facts["action_names"] == ("-1", "0", "1")
    assert actions.read(np.array([[[-1], [1], [7], [-2]]])).tolist() == [[0, 2, -1, -1]]


def test_spaces_are_known_by_the_names_of_their_classes():
    """The gym of OpenAI and every Gymnasium have classes of their own; without a space, numbers are numbers."""

    class Discrete:
        n = np.int64(4)

    class Lever(Discrete):
        pass

    assert WatchedActions(Lever()).facts["num_actions"] == 4
    assert WatchedActions(None, 3).facts["bounds"] == ((-np.inf, np.inf),)
    assert not WatchedActions(None, object()).reads
    assert not WatchedActions(Discrete).reads


def test_a_row_of_any_batch_is_what_one_environment_observes():
    """Arrays, tensors, lists, Dicts, Tuples, text and objects."""
    torch = pytest.importorskip("torch")
    numbers = np.arange(6.0).reshape(3, 2)
    assert row_of(numbers, 1, 3).tolist() == [2, 3]
    assert row_of(torch.tensor(numbers, requires_grad=True), 1, 3).tolist() == [2, 3]
    assert row_of(torch.ones(3, 2, dtype=torch.bfloat16), 1, 3).tolist() == [1, 1]
    assert row_of({"a": (numbers, numbers)}, 2, 3)["a"][1].tolist() == [4, 5]
    assert row_of(("x", "y"), 1, 2) == "y"
    assert row_of(({"a": np.ones(3)}, {"a": np.zeros(3)}), 1, 2)["a"].tolist() == [0, 0, 0]
    assert row_of([[1, 2], [3, 4]], 1, 2) == [3, 4]
    assert row_of(None, 1, 2) is None
    assert row_of(numbers, 9, 3) is None


def test_a_part_that_changes_its_shape_is_no_longer_shown():
    """With a sentence; the others stay."""
    boards = WatchedBoards(None, {"a": np.ones(2), "b": np.ones(1)})
    assert boards.parts.numbers({"a": np.ones(3), "b": np.ones(1)}).tolist() == [0, 0, 1]
    assert boards.look()
    assert boards.take_notes() == ["a of the observation had shape (2,), now (3,): it is no longer shown"]
    assert boards.parts.labels == ("b",)
    assert not boards.look()


@pytest.mark.parametrize(
    ("observation", "kinds"),
    [
        (np.zeros((7, 7, 3), np.uint8), ["text"]),
        ({"image": np.zeros((7, 7, 3), np.uint8), "mission": "go to the door"}, ["text", "text"]),
        (np.zeros((4, 4), np.int64), ["text"]),
        (np.zeros((6, 7, 2), np.int8), ["text"]),
        (np.zeros((64, 64)), ["pixels"]),
        ("You are in a dark cave.", ["text"]),
        (np.zeros(4), ["bars"]),
        (None, []),
        (2**80, []),
    ],
)
def test_what_is_observed_decides_what_is_drawn(observation, kinds):
    """Grids of whole numbers are grids, and text is text."""
    assert [panel.kind for panel in WatchedBoards(None, observation).panels] == kinds


def test_a_grid_shows_its_numbers():
    """Planes are beside each other, and larger numbers need wider cells."""
    parts = ObservationParts(np.zeros((3, 3, 2), np.int64), [])
    seen = np.arange(18).reshape(3, 3, 2)
    text = "".join(letter for letter in parts.shown("cells", seen) or "" if letter not in "\x1b[m")
    assert text.split("\n")[0].split()[-1].endswith("0")
    boards = WatchedBoards(None, np.zeros((3, 3), np.int64))
    before = boards.fields[0].shape
    buffers = allocate(describe_script("toy", WatchedActions(None), boards), 1)
    buffers["looked_at"][:] = 1
    boards.draw(buffers, log_of(np.full((3, 3), 131072)), spare=np.inf)
    assert boards.look()
    assert boards.fields[0].shape[1] > before[1]


def test_sentences_are_wrapped_and_end_with_the_newest():
    """A long story is cut at its beginning."""
    story = "\n".join(f"{index} and then nothing happened in the cave" for index in range(100))
    lines = wrapped(story, (4, 20)).split("\n")
    assert len(lines) == 4
    assert all(len(line) <= 20 for line in lines)
    assert lines[-1].endswith("in the cave")


def test_a_black_picture_is_drawn():
    """A board of zeros is one that is not drawn yet."""
    assert picture_in(np.zeros((40, 40, 3), np.uint8), (20, 20)).sum() == 1


class Noisy(gymnasium.Env):
    """Draws noise from all generators, counts, prints, and fails at the third picture."""

    render_mode = "rgb_array"

    def __init__(self):
        self.drawn, self.own = 0, random.Random(3)

    def render(self):
        self.drawn += 1
        self.viewer = object()
        print("drawing")  # noqa: T201 - so do scripts
        random.random()
        np.random.rand()  # noqa: NPY002 - as scripts do
        self.own.random()
        return self.np_random.integers(0, 255, (32, 32, 3)).astype(np.uint8)


def state_of(env):
    """All that drawing could change."""
    attributes = {name: value for name, value in vars(env).items() if not name.startswith("_np")}
    states = random.getstate(), str(np.random.get_state()), env.own.getstate()  # noqa: NPY002 - as above
    return attributes, list(vars(env)), states, env._np_random.bit_generator.state


def test_drawing_leaves_everything_as_it_was(capsys):
    """Attributes and their order, generators of random numbers and what is printed."""
    env = Noisy()
    env.reset(seed=1)
    draw, before = render_of_env(gymnasium.wrappers.TimeLimit(env, 9)), state_of(env)
    assert draw is not None
    assert draw().shape == (32, 32, 3)
    assert draw() is not None
    assert state_of(env) == before
    assert capsys.readouterr().out == ""


def test_environments_without_a_render_mode_are_drawn_if_that_is_harmless():
    """Pygame is as before, too."""
    pygame = pytest.importorskip("pygame")
    assert render_of_env(SimpleNamespace(render_mode=None)) is None
    env = gymnasium.make("CartPole-v1")
    env.reset(seed=1)
    draw, before = render_of_env(env), dict(vars(env.unwrapped))
    assert draw is not None
    assert draw().shape == draw().shape == (400, 600, 3)
    assert vars(env.unwrapped) == before
    assert not pygame.get_init()


def test_rows_of_a_vector_that_computes_all_at_once_are_drawn():
    """Each in its own state."""
    pytest.importorskip("pygame")
    envs = gymnasium.make_vec("CartPole-v1", 2, vectorization_mode="vector_entry_point")
    envs.reset(seed=1)
    envs.unwrapped.state[0] = [-2, 2]  # type: ignore[attr-defined]
    draw = render_of_rows(envs)
    assert draw is not None
    first, second = draw(0), draw(1)
    assert first.shape == (400, 600, 3)
    assert not np.array_equal(first, second)


def test_nothing_is_rendered_before_somebody_looks():
    """After an error, what is observed is shown, with a sentence."""
    calls = []

    def render(env):
        calls.append(env)
        if len(calls) > 2:
            raise RuntimeError("GL context lost")
        return np.full((20, 20, 3), 9, np.uint8)

    boards = WatchedBoards(render, np.ones(2))
    assert (calls, boards.panels[0].kind) == ([], "bars")
    assert boards.look()
    assert boards.panels[0].kind == "pixels"
    buffers = allocate(describe_script("toy", WatchedActions(None), boards), 1)
    for _ in range(2):
        buffers["looked_at"][:] = 1
        boards.draw(buffers, log_of(np.ones(2)), spare=np.inf)
    assert boards.look()
    kind: str = boards.panels[0].kind
    assert kind == "bars"
    assert boards.take_notes() == ["rendering failed (RuntimeError: GL context lost): boards show what is observed"]


def test_agents_share_one_picture():
    """It is rendered once."""
    calls = []

    def render(env):
        calls.append(env)
        return np.full((20, 20, 3), 9, np.uint8)

    boards = WatchedBoards(render, np.ones(2), shared=True)
    boards.look()
    buffers = allocate(describe_script("toy", WatchedActions(None), boards), 3)
    buffers["looked_at"][:] = 1
    boards.draw(buffers, log_of(np.ones(2)), spare=np.inf)
    assert len(calls) == 2
    assert (buffers["picture"] == 9).all()
    assert not buffers["looked_at"].any()


@pytest.mark.parametrize("shared", [False, True])
def test_one_picture_is_drawn_in_large_on_request(shared):
    """That of the environment in focus, also if it is everybody's."""
    boards = WatchedBoards(lambda env: np.full((200, 300, 3), env + 1, np.uint8), np.ones(2), shared=shared)
    boards.look()
    buffers = allocate(describe_script("toy", WatchedActions(None), boards), 3)
    assert buffers["large"].shape == (1, 1, 200, 300, 3)
    buffers["looked_at"][0] = LIMITED
    boards.draw(buffers, log_of(np.ones(2)), spare=np.inf)
    assert buffers["large_of"].item() == 0
    buffers["looked_at"][0] = [LIMITED, LIMITED, LIMITED_LARGE]
    boards.draw(buffers, log_of(np.ones(2)), spare=np.inf)
    assert buffers["large_of"].item() == 3
    assert (buffers["large"] == (buffers["picture"][0, 0, 0, 0] if shared else 3)).all()


def test_text_actions_are_shown():
    """With their name, beside the board."""
    actions = WatchedActions(spaces.Text(200))
    boards = WatchedBoards(None, np.ones(2), text=actions.text)
    buffers = allocate(describe_script("toy", actions, boards), 1)
    buffers["looked_at"][:] = 1
    boards.draw(buffers, log_of(np.ones(2), "take the lamp"), spare=np.inf)
    assert "".join(map(chr, buffers["said"][0, 0, 0])).rstrip() == "action: take the lamp"


def test_rewards_of_several_parts_are_terms():
    """Each has a name."""
    task = describe_script("toy", WatchedActions(None), WatchedBoards(None, np.ones(2)), reward_parts=3)
    assert task.reward_terms == ("reward 0", "reward 1", "reward 2")
    assert Field("looked_at", "uint8", timed=False) in task.boards


def test_a_signal_while_drawing_comes_after_it():
    """Its handler may raise."""

    def handler(*_):
        raise TimeoutError

    done = []

    def draw():
        with deferred_signals():
            signal.raise_signal(signal.SIGALRM)
            done.append(True)

    before = signal.signal(signal.SIGALRM, handler)
    try:
        with pytest.raises(TimeoutError):
            draw()
        assert done
        assert signal.getsignal(signal.SIGALRM) is handler
    finally:
        signal.signal(signal.SIGALRM, before)
