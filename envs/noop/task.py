"""The task that does nothing, in the sizes of a big game: what is left of a step is what the transport costs."""

from __future__ import annotations

from ..family import Parameter, TaskFamily
from ..fields import Field
from ..panels import Panel
from ..task import Outcome, Task

TITLE = "No-op (does nothing, for benchmarks)"
OBSERVATION = 612
ACTIONS = 92

PARAMETERS = (Parameter("length", 1000, low=1, high=1_000_000, help="steps per episode"),)


def build(spec: str, length: int) -> Task:
    """Return the task: 612 numbers, the first the share of the episode; 92 legal actions; truncated after `length`."""
    return Task(
        spec=spec,
        name="noop",
        title=TITLE,
        factory=f"{__package__}.driver:NoopEnvironments",
        observation=Field("observation", "float32", (OBSERVATION,), per="seat", low=0, high=1),
        num_actions=ACTIONS,
        masked=True,
        outcomes=(Outcome("truncated", "neutral"),),
        panels=(Panel("table", "Episodes", "begun", ("begun",), main=True),),
        boards=(Field("begun", "float32", (1,), timed=False),),
        values={"length": length},
    )


TASKS = (TaskFamily("noop", TITLE, build, PARAMETERS),)
