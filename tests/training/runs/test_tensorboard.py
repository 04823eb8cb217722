"""Event files, read by TensorBoard itself."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from pac.training.runs.tensorboard_log import TensorBoardLog

from ...programs import python

pytest.importorskip("tensorboard")

WRITE = """
import sys
from pathlib import Path
from pac.training.runs.tensorboard_log import TensorBoardLog

for steps, approx_kl in (((10, 20, 30), 0.25), ((20, 40), 0.5)):
    files = TensorBoardLog(Path(sys.argv[1]))
    for step in steps:
        files.add({"return": step / 4, "approx_kl": approx_kl}, step)
    files.close()
sys.exit("torch" in sys.modules)
"""


READ = """
import json, sys
from tensorboard.backend.event_processing.plugin_event_multiplexer import EventMultiplexer
from tensorboard.util.tensor_util import make_ndarray

events = EventMultiplexer().AddRunsFromDirectory(sys.argv[1]).Reload()
points = {
    tag: [(one.step, float(make_ndarray(one.tensor_proto))) for one in events.Tensors("tensorboard", tag)]
    for tag in ("approx_kl", "return")
}
print(json.dumps(points))
"""


@pytest.mark.session
def test_curves_stand_in_event_files_and_pytorch_is_not_loaded_for_them(tmp_path) -> None:
    """A solver's session knows no PyTorch, and needs none; a resumed one makes void what came after it was saved."""
    subprocess.run([sys.executable, "-c", WRITE, str(tmp_path)], check=True, timeout=120)
    reported = python("-c", READ, str(tmp_path), check=True)
    points = json.loads(reported.stdout)
    assert points["approx_kl"] == [[10, 0.25], [20, 0.5], [40, 0.5]]
    assert points["return"] == [[10, 2.5], [20, 5.0], [40, 10.0]]


def test_files_that_cannot_be_written_end(tmp_path) -> None:
    """The first failure is an error, which the run's keeper tells; what comes later is let go, to the end."""
    (tmp_path / "tensorboard").touch()
    files = TensorBoardLog(tmp_path)
    with pytest.raises(OSError, match="tensorboard"):
        files.add({"return": 1.0}, 10)
    files.add({"return": 2.0}, 20)
    files.close()
