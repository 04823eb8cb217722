"""A training that measures what its diagnosis costs: `python diagnosis_costs.py session|script SECONDS`.

The CPU time of each call into the diagnosis is added up in the thread that makes it. `pac-tui watch` runs `script`.
"""

import json
import runpy
import sys
import tempfile
import threading
import time
from functools import wraps
from importlib import import_module
from pathlib import Path
from typing import Any

SICK = Path(__file__).parents[1] / "training" / "diagnosis" / "sick.py"
PARTS = {
    "diagnosis.diagnosis:Diagnosis": ("check",),
    "diagnosis.evidence:Evidence": ("log", "pace"),
    "diagnosis.machine:MachineEvidence": ("add",),
    "diagnosis.of_run:FindingLines": ("take",),
    "diagnosis.step_statistics:StepStatistics": ("add", "observe", "begin", "seed"),
    "session.monitor:Monitor": ("diagnose",),
}
SESSION_PARTS = {"session.action_trial:ActionTrial": ("end_iteration",)}
SCRIPT_PARTS = {
    "watching.called_weights:CalledWeights": ("take",),
    "watching.called_weights:GradientHook": ("__call__",),
    "watching.learning_probe:Clipping": ("_after",),
    "watching.learning_probe:LearningProbe": ("_on_step", "_on_stepped", "install", "take"),
    "watching.linear_calls:LinearCalls": ("_after",),
    "watching.policy:Choices": ("chosen",),
    "watching.policy:PolicyProbe": ("observe", "finish", "_after", "_learned"),
    "watching.replay_use:ReplayUse": ("take",),
}
"""The functions through which a training enters its diagnosis, by module and class."""


class Costs:
    """The CPU time of calls and their number, by function; of calls within each other, the outermost counts."""

    def __init__(self) -> None:
        self.spent: dict[str, float] = {}
        self.calls: dict[str, int] = {}
        self._here = threading.local()

    def measure(self, package: str, parts: dict[str, tuple[str, ...]]) -> None:
        """Measure the methods of classes from now on; none of them may have been bound yet."""
        for path, names in parts.items():
            module, _, owner = path.partition(":")
            kind = getattr(import_module(f"{package}.{module}"), owner)
            for name in names:
                setattr(kind, name, self._measured(f"{owner}.{name}", getattr(kind, name)))

    def _measured(self, name: str, function: Any) -> Any:
        self.spent[name], self.calls[name] = 0.0, 0

        @wraps(function)
        def measured(*args: Any, **kwargs: Any) -> Any:
            if getattr(self._here, "inside", False):
                return function(*args, **kwargs)
            self._here.inside, begun = True, time.thread_time()
            try:
                return function(*args, **kwargs)
            finally:
                self.spent[name] += time.thread_time() - begun
                self.calls[name] += 1
                self._here.inside = False

        return measured


def main() -> None:
    """Train, and print the costs as JSON."""
    kind, seconds = sys.argv[1], float(sys.argv[2])
    costs = Costs()
    if kind == "script":
        costs.measure("_pac_tui.training", PARTS | SCRIPT_PARTS)
        sys.argv = [str(SICK), "healthy", str(seconds)]
        begun = time.process_time()
        runpy.run_path(str(SICK), run_name="__main__")
    else:
        costs.measure("pac.training", PARTS | SESSION_PARTS)
        from pac.training.config import Config
        from pac.training.session.session import Session

        with tempfile.TemporaryDirectory() as folder:
            runs = Path(folder) / "runs"
            config = Config(task="CartPole-v1", num_envs=8, backend="inline", seconds=seconds, runs_dir=runs)
            session = Session(config, Path(folder), headless=True)
            begun = time.process_time()
            session.run()
    print(json.dumps({"cpu": time.process_time() - begun, "spent": costs.spent, "calls": costs.calls}))


if __name__ == "__main__":
    main()
