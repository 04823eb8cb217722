"""Bad input on the command line: one sentence, the right exit code, no files left."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from pac.envs import find
from pac.training.runs.folder import RunFolder
from pac.training.runs.identity import run_identity
from pac.tui.cli.commands import main
from pac.tui.cli.errors import describe_error
from pac.tui.terminal.report_file import NotWritable, check_writable

from ...folders import runtime
from ...programs import pac_tui, program, python
from ...waiting import until
from ..commands import QUICK, Terminal, environment, start


class Case(NamedTuple):
    """Arguments, the exit code, and parts of the error message."""

    arguments: tuple[str, ...]
    code: int
    parts: tuple[str, ...]


HEADLESS = ("run", "--headless")
REFUSED_BY_THE_COMMAND = {
    "trainer": Case((*HEADLESS, "--trainer", "pppo"), 2, ("unknown trainer 'pppo'", "Did you mean ppo?")),
    "backend": Case((*HEADLESS, "--backend", "shmem"), 2, ("unknown backend 'shmem'", "Did you mean shm?")),
    "device": Case((*HEADLESS, "--device", "gpu"), 2, ("unknown device 'gpu'",)),
    "no environment": Case((*HEADLESS, "--num-envs", "0"), 2, ("--num-envs", "from 1 to 1,000,000")),
    "ten million": Case((*HEADLESS, "--num-envs", "10000000"), 2, ("--num-envs", "from 1 to 1,000,000")),
    "no number": Case((*HEADLESS, "--num-envs", "many"), 2, ("--num-envs", "a whole number")),
    "directory": Case((*HEADLESS, "--config", "."), 2, ("is a directory",)),
    "key": Case((*HEADLESS, "--config", "key.yaml"), 2, ("'num_env'", "Did you mean num_envs?")),
    "setting": Case((*HEADLESS, "--ppo.clap", "1"), 2, ("'clap'", "Did you mean clip?")),
    "option": Case((*HEADLESS, "--num-env", "4"), 2, ("unknown option '--num-env' (did you mean --num-envs?)",)),
    "an option that is not alike": Case(
        ("bench", "engine", "--output", "a.json"),
        2,
        ("unknown option '--output'; see `pac-tui bench engine --help`",),
    ),
    "keep": Case((*HEADLESS, "--keep", "bset"), 2, ("--keep expects last, best or every:NUMBER", "got 'bset'")),
    "keep twice": Case(
        (*HEADLESS, "--keep", "every:3,every:4"), 2, ("--keep expects last, best or every:NUMBER", "every:3,every:4")
    ),
    "record": Case((*HEADLESS, "--record", "bset"), 2, ("--record expects best, worst or every:NUMBER", "got 'bset'")),
    "parallel": Case((*HEADLESS, "--steps", "1", "--parallel", "2"), 2, ("--parallel is for several trainings",)),
    "no seeds": Case((*HEADLESS, "--steps", "1", "--seeds", ""), 2, ("--seeds expects numbers or ranges",)),
    "value": Case((*HEADLESS, "--num-envs"), 2, ("--num-envs expects a value", "`pac-tui run --help`")),
    "twice": Case((*HEADLESS, "--seed", "1", "--seed", "2"), 2, ("--seed is given more than once",)),
    "a setting twice": Case(
        (*HEADLESS, "--ppo.gae-lambda", "1", "--set", "ppo.gae_lambda=1"),
        2,
        ("--ppo.gae-lambda is given more than once; give it once",),
    ),
    "a setting of the resolver twice": Case(
        ("eval", "gone", "--resolver.max-depth=1", "--resolver.max-depth=2"),
        2,
        ("--resolver.max-depth is given more than once",),
    ),
    "command": Case(("atach",), 2, ("unknown command 'atach'", "Did you mean attach?")),
    "command of runs": Case(("runs", "lst"), 2, ("unknown command 'lst'", "Did you mean list?")),
    "subject": Case(("bench", "foo"), 2, ("unknown command 'foo'", "Known: app, device, ")),
    "too much": Case(("tasks", "x", "y"), 2, ("`pac-tui tasks` does not accept 'x y'", "`pac-tui tasks --help`")),
    "nothing": Case(("eval",), 2, ("`pac-tui eval` expects RUN",)),
    "choice": Case(("completion", "tcsh"), 2, ("tcsh", "bash", "`pac-tui completion --help`")),
    "nothing to remove": Case(("runs", "rm"), 2, ("`pac-tui runs` lists them",)),
    "report": Case((*HEADLESS, "--report", "no/where.json"), 2, ("no/where.json", "No such file")),
    "resume": Case((*HEADLESS, "--resume", "gone"), 2, ("unknown run 'gone'",)),
    "values of N": Case(("bench", "scaling", "--num-envs", "1,two"), 2, ("separated by commas",)),
    "server": Case(("env-server", "--backend", "shm"), 2, ("unknown kind of server 'shm'", "http, socket")),
    "episode": Case(("replay", "gone.jsonl"), 2, ("gone.jsonl cannot be read: No such file or directory; `r`",)),
    "play": Case(("play", "drmario"), 2, ("is not a terminal",)),
}
REFUSED_BY_THE_SESSION = {
    "task": Case((*HEADLESS, "--task", "drmaro"), 2, ("unknown task 'drmaro'", "Did you mean drmario?")),
    "module": Case((*HEADLESS, "--task", "a.b_v1"), 2, ("unknown task 'a.b_v1'", "MODULE:NAME", "a.b_v1:parallel_env")),
    "task parameter": Case((*HEADLESS, "--task", "drmario:level=99"), 2, ("level expects 0 to 20",)),
    "runs": Case((*HEADLESS, *QUICK, "--runs-dir", "key.yaml"), 1, ("key.yaml", "--runs-dir")),
    "terminal": Case(("run",), 2, ("is not a terminal", "--headless")),
}


def check(case: Case, code: int, out: str, err: str) -> None:
    """Check that stderr is one line with the error, without a traceback."""
    assert code == case.code, err
    assert out == ""
    lines = err.splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("pac-tui: ")
    assert all(part in lines[0] for part in case.parts)
    assert "Errno" not in lines[0]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Change to a directory with one bad file, and check that nothing is added."""
    (tmp_path / "key.yaml").write_text("num_env: 3\n")
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    assert [path.name for path in tmp_path.iterdir()] == ["key.yaml"]


@pytest.mark.thorough
@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("name", REFUSED_BY_THE_COMMAND)
def test_the_command_refuses(name, capsys):
    """The command reports errors that it can find before a session starts."""
    case = REFUSED_BY_THE_COMMAND[name]
    code = main(case.arguments)
    check(case, code, *capsys.readouterr())


@pytest.mark.session
def test_the_session_refuses(shared, folder):
    """The command reports errors of the session, and no file is left."""
    started = {name: start(case.arguments, shared, folder) for name, case in REFUSED_BY_THE_SESSION.items()}
    for name, process in started.items():
        out, err = process.communicate(timeout=120)
        check(REFUSED_BY_THE_SESSION[name], process.returncode, out, err)


def test_a_refusal_is_json_too(capsys):
    """With --json, an error is one JSON object on stdout."""
    assert main(["run", "--headless", "--json", "--num-envs", "0"]) == 2
    printed: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert printed["code"] == 2
    assert "--num-envs" in printed["error"]


def test_json_needs_headless(capsys):
    """The app cannot share stdout with a report."""
    assert main(["run", "--json"]) == 2
    assert "--headless" in capsys.readouterr().err


@pytest.mark.session
def test_too_little_shared_memory(shared, tmp_path):
    """A limit of the size of files is reported before anything is written, with advice."""
    command = " ".join((sys.executable, "-m", "pac.tui", "run", "--headless", *QUICK[:-1], "4096"))
    done = program("bash", "-c", f"ulimit -f 64; exec {command}", env=environment(shared), cwd=tmp_path)
    assert done.returncode == 1
    assert "of shared memory are needed, and a file may have 64.0 KiB here (ulimit -f)" in done.stderr
    assert not list(tmp_path.iterdir())
    assert "Traceback" not in done.stderr


@pytest.mark.session
def test_a_terminal_that_cannot_draw(tmp_path):
    """TERM=dumb is an error that leaves the terminal unchanged."""
    with runtime() as folder:
        terminal = Terminal(("run",), folder, tmp_path, TERM="dumb")
        assert terminal.process.wait(120) == 2
        until(lambda: b"--headless" in terminal.drawn, "the sentence is drawn")
        assert terminal.echoes
        terminal.close()


@pytest.mark.session
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no file that is always full")
@pytest.mark.parametrize(
    ("end", "code", "printed"),
    [("> /dev/full", 1, "pac-tui: stdout: No space left on device\n"), (">&- <&-", 0, ""), ("| true", 0, "")],
)
def test_a_stdout_that_takes_nothing(end, code, printed):
    """A full disk is one sentence; a closed stdout is not an error."""
    done = program("sh", "-c", f"{sys.executable} -m pac.tui runs {end}")
    assert (done.returncode, done.stderr) == (code, printed)


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (OSError(12, "Cannot allocate memory"), "Cannot allocate memory (no file was named)"),
        (OSError(30, "Read-only file system", "a"), "a: Read-only file system"),
        (OSError(18, "Invalid cross-device link", "a", None, "b"), "a -> b: Invalid cross-device link"),
        (TimeoutError(), "TimeoutError (no file was named)"),
    ],
)
def test_errors_of_the_system(error, text):
    """An error of the system names its own file, and stdout only if it is stdout's."""
    assert describe_error(error) == ("System error", text, 1)


def completed_run(folder):
    """Write the metadata of a run named `a`."""
    run = RunFolder.create(folder / "runs", "a")
    task = run_identity(find("CartPole-v1"), "random")
    run.write_metadata({**task, "config": {"task": "CartPole-v1", "trainer": "random"}, "state": "completed"})
    return run


READ_ONLY = "mount --bind {here}/runs {here}/runs && mount -o remount,ro,bind {here}/runs && exec {command}"


def isolates() -> bool:
    """Return whether a process can have private mounts here."""
    return subprocess.run(["unshare", "-rm", "true"], check=False, capture_output=True).returncode == 0


@pytest.mark.session
@pytest.mark.skipif(shutil.which("unshare") is None or not isolates(), reason="a process gets no mounts of its own")
def test_a_run_on_a_read_only_disk_is_not_resumed(shared, tmp_path):
    """A run that cannot be saved is refused at once in one sentence."""
    (completed_run(tmp_path).checkpoints / "step-000000000001").mkdir()
    command = f"{sys.executable} -m pac.tui run --headless --backend inline --resume a"
    script = READ_ONLY.format(here=tmp_path, command=command)
    done = program("unshare", "-rm", "sh", "-c", script, env=environment(shared), cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    (line,) = done.stderr.splitlines()
    assert re.fullmatch(r"pac-tui: cannot write into .*runs/a: Read-only file system; .*", line)


@pytest.mark.session
@pytest.mark.parametrize("make", [os.mkfifo, lambda path: path.symlink_to("elsewhere")])
def test_a_log_that_cannot_be_written_is_an_error(shared, tmp_path, make):
    """A log that is a FIFO or a link is refused."""
    make(completed_run(tmp_path).log)
    resume = ("run", "--headless", "--backend", "inline", "--resume", "a")
    done = pac_tui(*resume, env=environment(shared), cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert re.fullmatch(r"pac-tui: .*session\.log cannot be written: it is a .*\n", done.stderr)
    assert not (tmp_path / "elsewhere").exists()


def test_a_report_is_not_written_into_a_pipe(tmp_path):
    """A pipe without a reader would keep the command waiting for ever."""
    os.mkfifo(tmp_path / "report")
    with pytest.raises(NotWritable, match=r"--report .*report is a pipe; choose a regular file"):
        check_writable("--report", tmp_path / "report")


@pytest.mark.session
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no device that is always full")
@pytest.mark.parametrize("several", [(), ("--seeds", "0,1")])
def test_a_report_that_cannot_be_written_is_printed_before(shared, tmp_path, several):
    """The disk may be full at the end, and what was measured would be lost."""
    command = ("run", "--headless", *QUICK, "--steps", "100", "--json", "--report", "/dev/full", *several)
    done = pac_tui(*command, env=environment(shared), cwd=tmp_path)
    assert done.returncode == 1
    assert json.loads(done.stdout)["runs" if several else "steps"]
    assert "--report /dev/full could not be written: No space left on device" in done.stderr


@pytest.mark.session
def test_a_stdout_with_few_characters():
    """Characters that the encoding of stdout lacks become question marks."""
    code = "import sys; sys.argv[1:] = ['--version']; from pac.tui.__main__ import main; main(); print('a · b')"
    done = python("-c", code, check=True, environ={"PYTHONIOENCODING": "ascii"})
    assert done.stdout.splitlines()[-1] == "a ? b"
