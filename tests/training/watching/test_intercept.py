"""Functions whose calls are seen: they take the same arguments, look the same, and pass on what they raise."""

import inspect
import pickle
import sys
import traceback
import weakref
from typing import Any

import gymnasium
import numpy as np
import pytest

from pac.training import watch
from pac.training.watching.followed import Reports
from pac.training.watching.intercept import replace

from ...programs import python
from .scripted import followed_by, session_of

RESULT: Any = np.zeros(1, np.float32), 1.0, False, False, {}


class Env(gymnasium.Env):
    """Remembers the arguments of steps."""

    observation_space = gymnasium.spaces.Box(0, 9, (1,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)
    step: Any = None

    def reset(self, **_):
        self.got = []
        return np.zeros(1, np.float32), {}


class Plain(Env):
    def step(self, a):
        self.got.append(a)
        return RESULT


class Keyword(Env):
    def step(self, *, action, dt: float = 0.5):  # type: ignore[override]
        self.got.append((action, dt))
        return RESULT


class Positional(Env):
    def step(self, mine, theirs=3, /, *rest):
        self.got.append((mine, theirs, rest))
        return RESULT


class Anything(Env):
    def step(*args, **kwargs):
        args[0].got.append((args[1:], kwargs))
        return RESULT


class Closure(Env):
    def step(self, action=1):
        self.got.append(super().action_space.n + action)
        return RESULT


CALLS: Any = (((1,), {}), ((), {"a": 1}), ((), {"action": 1}), ((1, 2), {}), ((1, 2, 3, 4), {}), ((), {}))


def answers(env):
    """What calls of all kinds say."""
    said = []
    for args, kwargs in CALLS:
        try:
            env.step(*args, **kwargs)
        except TypeError as error:
            said.append(str(error))
    return said, env.got


def look_of(function):
    """What a script can ask a function."""
    code = function.__code__
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    told = inspect.signature(function), inspect.getfullargspec(function), inspect.getsource(function), vars(function)
    return id(function), names, told, function.__qualname__, function.__module__, function.__closure__


@pytest.mark.parametrize("kind", [Plain, Keyword, Positional, Anything, Closure])
def test_a_function_takes_and_tells_the_same(kind):
    """Its arguments and their names, the errors of wrong calls, its signature, source and identity."""
    env = kind()
    env.reset()
    before, expected = look_of(kind.step), answers(env)
    watch(env)
    env.reset()
    assert answers(env) == expected
    assert look_of(kind.step) == before
    assert session_of(env).step_log.rows == 1


class Looking(Env):
    """Looks at who calls, and fails when it is told to."""

    def step(self, fails):
        self.got.append([frame.function for frame in inspect.stack()[:2]] + [sys._getframe(1).f_code.co_name])
        if fails:
            raise ValueError("over")
        return RESULT


def test_no_frame_is_seen():
    """From inside, and in the traceback of what a step raises; then it is watched on."""
    env: Any = watch(gymnasium.wrappers.TimeLimit(Looking(), 9))
    env.reset()
    for _ in range(2):
        env.step(False)
        with pytest.raises(ValueError, match="over") as raised:
            env.step(True)
        names = [frame.name for frame in traceback.extract_tb(raised.tb)]
        assert names == [sys._getframe().f_code.co_name, "step", "step"]
    assert env.unwrapped.got == [["step", "step", "step"]] * 4
    session_of(env)._flush()
    assert session_of(env).mirror.buffer["episode_length"][session_of(env).mirror.buffer.order.newest, 0] == 2


def test_an_interruption_while_it_waits_comes_from_the_line_of_the_script():
    """As Ctrl-C in a paused script."""

    def interrupted():
        raise KeyboardInterrupt

    env = watch(Plain())
    env.reset()
    env.step(0)
    log = session_of(env).step_log
    followed_by(env).attention, log.wait = [1], interrupted
    with pytest.raises(KeyboardInterrupt) as raised:
        env.step(0)
    assert len(traceback.extract_tb(raised.tb)) == 1
    followed_by(env).attention = [0]
    env.step(0)
    assert env.got == [0, 0]


def test_the_outermost_environment_counts():
    """Of wrappers, of steps in steps, and of a step in a reset, which counts as none."""

    class Warm(Plain):
        def reset(self, **_):
            found = super().reset()
            self.step(0)
            return found

        def step(self, a):
            return super().step(a)

    inner = watch(Warm())
    outer = watch(gymnasium.wrappers.TimeLimit(inner, 9))
    outer.reset()
    for _ in range(3):
        outer.step(0)
    session = session_of(outer)
    session._flush()
    assert followed_by(inner).group is None
    assert session.mirror.buffer["episode_length"][session.mirror.buffer.order.newest, 0] == 3


def test_objects_of_a_class_that_are_not_watched_are_left_alone():
    """Their functions are the same ones."""
    watched, other = watch(Plain()), Plain()
    for env in (watched, other):
        env.reset()
        env.step(0)
    assert followed_by(other) is None
    assert session_of(watched).step_log.rows == 1
    copied = pickle.loads(pickle.dumps(watched))
    assert (type(copied), copied.got, followed_by(copied)) == (Plain, [0], None)


def test_a_dropped_environment_is_gone():
    """Nothing holds it, its observations or its infos."""

    class Seen(np.ndarray):
        pass

    class Told(dict[str, int]):
        pass

    class Passing(Env):
        def step(self, _action):
            return np.zeros(1, np.float32).view(Seen), 1.0, False, False, Told(number=1)

    env = watch(Passing())
    env.reset()
    env.step(0)
    observation, *_, info = env.step(0)
    known = [weakref.ref(each) for each in (env, observation, info)]
    del env, observation, info
    assert [ref() for ref in known] == [None] * 3


BY_VALUE = """
import sys
sys.modules["pac"] = None
import pickle
env = pickle.loads(bytes.fromhex(sys.stdin.read()))
env.reset()
print(env.step(7)[1], env.got, [name for name in sys.modules if "watching" in name])
"""


@pytest.mark.session
def test_a_class_is_pickled_by_value_into_a_process_that_does_not_have_us():
    """As cloudpickle does with classes of `__main__`."""
    cloudpickle = pytest.importorskip("cloudpickle")
    made: dict[str, Any] = {"__name__": "__main__", "gymnasium": gymnasium}
    exec(
        "class Made(gymnasium.Env):\n"
        "    def reset(self):\n        self.got = []\n        return 0, {}\n"
        "    def step(self, action, *, times=2):\n        self.got.append(action)\n"
        "        return 0, float(action * times), False, False, {}\n",
        made,
    )
    env = watch(made["Made"]())
    env.reset()
    env.step(1)
    found = python("-c", BY_VALUE, input=cloudpickle.dumps(env).hex())
    assert found.stdout == "14.0 [7] []\n", found.stderr


class Attribute(Env):
    """Has a step that is no function of its class."""

    def __init__(self):
        self.step = lambda _action: RESULT


class Four(Env):
    """Returns four values."""

    def step(self, _action):
        return np.zeros(1, np.float32), 0.0, False, {}


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        (Attribute, "its step is an attribute of the object, and not a method of its class"),
        (Four, "its step returned 4 values, and watching needs Gymnasium's five"),
    ],
)
def test_why_an_environment_is_not_watched_is_said_once(kind, reason, capsys):
    """However many there are, and they go on."""
    for _ in range(3):
        env = watch(kind())
        env.reset()
        for _ in range(2):
            assert len(env.step(0)) > 3
    said = capsys.readouterr().err
    assert said.count(f"pac-tui: {kind.__name__} is not watched: {reason}") == 1
    assert said.count("\n") == 1


def test_a_fault_of_ours_ends_only_watching(monkeypatch, capsys):
    """With a sentence, from any call on."""

    def failing(*_):
        raise RuntimeError("ours")

    env = watch(Plain())
    env.reset()
    env.step(0)
    monkeypatch.setattr(session_of(env).step_log, "process", failing)
    session_of(env).process_soon()
    assert env.step(0) is RESULT
    assert env.step(0) is RESULT
    assert "pac-tui: Plain is not watched: RuntimeError: ours\n" in capsys.readouterr().err
    assert len(Reports.said) == 1


def test_only_functions_are_replaced():
    """Not what is written in C, nor generators."""

    class Odd:
        step = len

        def reset(self):
            yield

    assert not replace(Odd, "step")
    assert not replace(Odd, "reset")
    assert not replace(Odd, "close")
