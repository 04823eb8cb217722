"""Environments are made once in a process of their own, to find out what they are, whatever their code does there."""

import os

import psutil
import pytest

from pac.envs import BadParameter, find, opengl, registry
from pac.envs.apart import Answer, TooSlow
from pac.envs.errors import NoSuchEnvironment, UnknownName
from pac.envs.gym import making, probing
from pac.envs.opengl import OpenGL

from ..waiting import until

UNRULY = "tests.training.unruly:Unruly"


@pytest.fixture(autouse=True)
def apart(monkeypatch):
    """Describe environments apart, as users' programs do, and as if nothing were known yet."""
    monkeypatch.setattr(registry, "APART", True)
    monkeypatch.setattr(registry, "_known", {})
    variables = ("MUJOCO_GL", "PYOPENGL_PLATFORM", "DISPLAY", "WAYLAND_DISPLAY")
    for name in variables:
        monkeypatch.delenv(name, raising=False)
    forget = opengl.working_opengl.cache_clear
    forget()
    yield
    forget()
    for name in variables[:2]:
        os.environ.pop(name, None)


def works(monkeypatch, backend):
    """Have OpenGL work by one backend on this machine, or by none."""
    monkeypatch.setattr(opengl, "installed", lambda: True)
    monkeypatch.setattr(opengl, "working_opengl", lambda: OpenGL(backend, "", {}))


def made(path):
    """Return the processes in which the constructor has run."""
    return [int(line.split()[0]) for line in path.read_text().splitlines()]


@pytest.mark.session
def test_an_environment_is_made_once_and_elsewhere(tmp_path):
    """However often it is asked for; the task is the same as one that is described here."""
    spec = f"{UNRULY}:path={tmp_path / 'made'}"
    task = find(spec)
    assert find(spec) is task
    (pid,) = made(tmp_path / "made")
    assert pid != os.getpid()
    assert task == probing.describe_here(spec, UNRULY, {"path": str(tmp_path / "made")})


@pytest.mark.thorough
def test_a_process_learns_what_its_parent_knows(tmp_path, monkeypatch):
    """So that workers make no further environment."""
    spec = f"{UNRULY}:path={tmp_path / 'made'}"
    task, text = find(spec), registry.known_tasks()
    monkeypatch.setattr(registry, "_known", {})
    registry.learn_tasks(text)
    assert find(spec) == task
    assert len(made(tmp_path / "made")) == 1


@pytest.mark.thorough
@pytest.mark.parametrize("how", ["prints", "reads", "closes"])
def test_what_a_constructor_does_to_its_descriptors_or_at_its_end_does_not_matter(how, capfd):
    """It has its own descriptors, and an error at its end is not one of the task."""
    assert find(f"{UNRULY}:how={how}").num_actions == 2
    assert capfd.readouterr() == ("", "")


@pytest.mark.thorough
def test_a_constructor_that_ends_its_process_is_reported():
    """The error says how it ended."""
    with pytest.raises(BadParameter, match="could not be made: its process was killed by SIGABRT"):
        find(f"{UNRULY}:how=dies")


@pytest.mark.thorough
def test_a_first_step_that_ends_the_process_costs_only_what_it_would_have_shown():
    """The environment is known and drawn all the same."""
    task = find(f"{UNRULY}:how=dies_stepping")
    assert (task.num_actions, task.note, task.panels[0].kind) == (2, "", "pixels")


@pytest.mark.thorough
def test_processes_that_a_constructor_leaves_are_ended(tmp_path):
    """Also those that have left its process group."""
    find(f"{UNRULY}:how=leaves,path={tmp_path / 'made'}")
    pid = int((tmp_path / "made.pid").read_text())
    until(lambda: not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE)


@pytest.mark.thorough
def test_a_constructor_that_hangs_has_a_limit(tmp_path):
    """The waiting can be shown, and the error names how to raise the limit."""
    waited: list[float] = []
    with pytest.raises(BadParameter, match=r"not done within 4 s; it is in __init__, .*unruly.*--hang-timeout"):
        find(f"{UNRULY}:how=hangs,path={tmp_path / 'made'}", limit=4, on_wait=waited.append)
    assert [round(seconds) for seconds in waited] == [1, 2, 3]
    assert not psutil.pid_exists(made(tmp_path / "made")[0])


@pytest.mark.thorough
def test_who_waits_can_end_the_process(tmp_path):
    """As Ctrl-C does, by an exception."""

    def interrupt(_):
        if (tmp_path / "made").exists():
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        find(f"{UNRULY}:how=hangs,path={tmp_path / 'made'}", on_wait=interrupt)
    assert not psutil.pid_exists(made(tmp_path / "made")[0])


@pytest.mark.parametrize("how", ["draws", "dies_drawing"])
@pytest.mark.thorough
def test_the_backend_that_draws_is_found(how, monkeypatch):
    """The variable is set for the environments that are made later, and a note says so."""
    works(monkeypatch, "osmesa")
    task = find(f"{UNRULY}:how={how}")
    assert (os.environ["MUJOCO_GL"], os.environ["PYOPENGL_PLATFORM"]) == ("osmesa", "osmesa")
    assert "is drawn with MUJOCO_GL=osmesa, as there is no display" in task.note


@pytest.mark.parametrize(
    ("how", "backend", "hint"),
    [
        ("draws", "", "(OpenGL does not work here: install the system package libegl1"),
        ("dies_drawing", "egl", "(neither with MUJOCO_GL=egl)"),
    ],
)
@pytest.mark.thorough
def test_without_such_a_backend_an_environment_is_not_drawn(how, backend, hint, monkeypatch):
    """Training works without pictures; the note says what was tried, or what to install."""
    works(monkeypatch, backend)
    task = find(f"{UNRULY}:how={how}")
    assert "cannot be rendered" in task.note
    assert hint in task.note
    assert "MUJOCO_GL" not in os.environ
    assert [panel.kind for panel in task.panels] == ["bars"]


def test_a_way_of_opengl_that_fails_or_hangs_harms_nobody(monkeypatch):
    """It is tried elsewhere for a limited time, only once; what the user has set is the only one."""
    asked = []

    def ask(_module, _request, *, variables, **_options):
        asked.append(variables["MUJOCO_GL"])
        if asked[-1] == "egl":
            raise TooSlow("not done within 20 s")
        return Answer(b"", -6, "")

    monkeypatch.setattr(opengl, "ask", ask)
    expected = {"egl": "it was not done within 20 s", "osmesa": "its process was killed by SIGABRT"}
    assert opengl.working_opengl() == opengl.working_opengl() == OpenGL("", "", expected)
    assert asked == ["egl", "osmesa"]
    opengl.working_opengl.cache_clear()
    monkeypatch.setenv("MUJOCO_GL", "osmesa")
    assert (opengl.working_opengl().variables, asked[2:]) == ({}, ["osmesa"])


@pytest.mark.session
@pytest.mark.skipif(not opengl.installed(), reason="MuJoCo is not installed")
def test_mujoco_is_drawn_where_opengl_works():
    """The real thing: a way that fails is named with its reason, and one that works draws HalfCheetah."""
    found = opengl.working_opengl()
    assert found.backend or set(found.failures) == set(opengl.WITHOUT_DISPLAY)
    task = find("HalfCheetah-v5")
    assert [panel.kind for panel in task.panels][:1] == (["pixels"] if found.backend else ["bars"])
    assert os.environ.get("MUJOCO_GL", "") == found.backend


@pytest.mark.skipif(not opengl.installed(), reason="MuJoCo is not installed")
def test_mujoco_leaves_no_log_in_the_users_folder(tmp_path, monkeypatch, capsys):
    """Its warnings go to stderr, which workers keep."""
    import mujoco

    monkeypatch.chdir(tmp_path)
    making._warn.cache_clear()
    mujoco.set_mju_user_warning(None)
    inner = making.create("HalfCheetah-v5", {}).unwrapped
    assert "MuJoCo: compiler attribute" in capsys.readouterr().err
    inner.data.qpos[0] = float("nan")
    mujoco.mj_step(inner.model, inner.data)
    assert "MuJoCo: Nan, Inf or huge value in QPOS" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


@pytest.mark.thorough
def test_unknown_names_are_reported_as_ever():
    """Errors of the process are raised here."""
    with pytest.raises(UnknownName, match="CartPole-v1"):
        find("CartPole-v11")
    with pytest.raises(BadParameter, match="no module named 'nowhere'") as caught:
        find("nowhere:Env")
    assert isinstance(caught.value.__cause__, NoSuchEnvironment)
