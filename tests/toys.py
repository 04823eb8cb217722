"""A task whose buffer a test fills, and what describes a session of it."""

from pac.envs import Field, Task

FACTS = {"run": "r", "trainer": "random", "backend": "inline", "device": "cpu", "seed": 1, "version": "0", "pid": 1}


def toy(dtype="float32", shape=(4,), *, num_actions=3, **fields) -> Task:
    """Return a task without environments; `fields` are those of `Task`."""
    seen = Field("observation", dtype, shape, per="seat")
    names = {"spec": "toy", "name": "toy", "title": "Toy", "factory": "nowhere:nothing"}
    return Task(**{**names, **fields}, observation=seen, num_actions=num_actions)
