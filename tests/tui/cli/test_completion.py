"""Bash completion."""

import shutil
from contextlib import redirect_stdout

import pytest

from pac.tui.cli.commands import main

from ...programs import program

pytestmark = [pytest.mark.session, pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")]

TRY = """
source {script}
COMP_WORDS=({words})
COMP_CWORD=$(( ${{#COMP_WORDS[@]}} - 1 ))
complete=$(complete -p pac-tui | sed 's/.*-F //; s/ .*//')
$complete pac-tui "${{COMP_WORDS[COMP_CWORD]}}" "${{COMP_WORDS[COMP_CWORD-1]}}"
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


@pytest.fixture(scope="module")
def script(tmp_path_factory):
    """Return the file that bash is to read."""
    path = tmp_path_factory.mktemp("completion") / "script"
    with path.open("w") as out, redirect_stdout(out):
        assert main(["completion", "bash"]) == 0
    return path


@pytest.mark.parametrize(
    ("words", "completed"),
    [
        ("pac-tui att", {"attach"}),
        ("pac-tui run --hang", {"--hang-timeout"}),
        ("pac-tui run --task dr", {"drmario", "drmario-frames"}),
        ("pac-tui --backend s", {"shm", "socket"}),
        ("pac-tui --trainer p", {"ppo"}),
        ("pac-tui attach ''", {"latest", "mine"}),
        ("pac-tui run --resume m", {"mine"}),
        ("pac-tui compare mine r", {"random"}),
        ("pac-tui runs tag ''", {"latest", "mine"}),
        ("pac-tui runs note m", {"mine"}),
        ("pac-tui runs rename ''", {"mine"}),
        ("pac-tui attach --j", {"--json"}),
        ("pac-tui run --ppo.cl", {"--ppo.clip"}),
        ("pac-tui --dqn.n-s", {"--dqn.n-step"}),
    ],
)
def test_bash_completes(script, tmp_path, words, completed):
    """Commands, options and their values are completed."""
    (tmp_path / "runs" / "mine").mkdir(parents=True)
    done = program("bash", "--norc", "-c", TRY.format(script=script, words=words), check=True, cwd=tmp_path)
    assert set(done.stdout.split()) == completed


def test_the_name_of_a_folder_is_not_run_as_a_command(script, tmp_path):
    """Special characters and escape sequences in the name of a folder are quoted."""
    for name in ("$(touch pwned)", "a\x1bb"):
        (tmp_path / "runs" / name).mkdir(parents=True)
    tried = TRY.format(script=script, words="pac-tui attach ''")
    done = program("bash", "--norc", "-c", tried, check=True, cwd=tmp_path)
    assert set(done.stdout.splitlines()) == {"latest", r"\$\(touch\ pwned\)", r"$'a\Eb'"}
    assert not (tmp_path / "pwned").exists()
