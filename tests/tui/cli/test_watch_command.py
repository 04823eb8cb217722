"""The command line of `pac-tui watch`: what belongs to the script, and which interpreter runs it."""

import subprocess
import sys

import pytest

from pac.envs import BadParameter
from pac.training.watching.launching import find_interpreter
from pac.tui.cli.flags import with_script_arguments

from ...programs import pac_tui


@pytest.mark.parametrize(
    ("given", "tokens"),
    [
        ("watch train.py --seed 1 --help", "watch -- train.py --seed 1 --help"),
        ("watch --headless --python py train.py -m x", "watch --headless --python py -- train.py -m x"),
        ("watch -m package.train --python x", "watch -m package.train -- --python x"),
        ("watch --module=package.train --json", "watch --module=package.train -- --json"),
        ("watch --exit train.py --exit", "watch --exit -- train.py --exit"),
        ("watch --help", "watch --help"),
    ],
)
def test_what_follows_the_script_belongs_to_it(given, tokens):
    """Whatever it looks like."""
    assert with_script_arguments(given.split()) == tokens.split()


def test_an_interpreter_without_numpy_is_refused(tmp_path):
    """With the command that installs it."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path], check=True)
    with pytest.raises(BadParameter, match=r"watching needs NumPy.*-m pip install numpy"):
        find_interpreter(str(tmp_path / "bin" / "python"))


@pytest.mark.parametrize("path", ["no-such-python", "/bin/true"])
def test_something_else_than_an_interpreter_is_refused(path):
    """In one sentence."""
    with pytest.raises(BadParameter, match="--python expects a Python interpreter"):
        find_interpreter(path)


@pytest.mark.session
def test_the_exit_code_and_the_usage_line_are_those_of_the_script(tmp_path):
    """In the terminal of the command, with --headless."""
    (tmp_path / "train.py").write_text("import argparse\nargparse.ArgumentParser().parse_args()\n")
    done = pac_tui("watch", "--headless", "train.py", "--seed", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("usage: train.py [-h]\ntrain.py: error: unrecognized arguments: --seed")
