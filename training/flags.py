"""The variables `TRAINING_...`: other names for parts of the configuration, and what to say of those that are none."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ..envs import Parameter

NAMES = {"TRAINING_NUM_ENVS": "num_envs", "TRAINING_TRANSPORT": "backend"}
GPU_INFERENCE = "TRAINING_GPU_INFERENCE"
GPU_COMBAT = "TRAINING_GPU_COMBAT"
SOCKET_PATH = "TRAINING_SOCKET_PATH"
SHM_NAME = "TRAINING_SHM_NAME"


def aliases(environ: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    """Yield, of what is set, the key of the configuration, the variable and its value.

    Raises:
        BadParameter: A value is neither true nor false where it must be.
    """
    for name, key in NAMES.items():
        if name in environ:
            yield key, name, environ[name]
    if GPU_INFERENCE in environ:
        yield "device", GPU_INFERENCE, "auto" if _is_true(environ, GPU_INFERENCE) else "cpu"
    _is_true(environ, GPU_COMBAT)


def unused_flags(environ: Mapping[str, str], device: str) -> list[str]:
    """Return a sentence for each variable that is set and has no effect on a session whose policy runs on `device`."""
    told = []
    if _is_true(environ, GPU_INFERENCE) and device == "cpu":
        told.append(f"{GPU_INFERENCE} asks for a GPU, and the policy runs on the CPU")
    if _is_true(environ, GPU_COMBAT):
        told.append(f"{GPU_COMBAT} has no effect: fights run on the CPU, in the workers")
    if SOCKET_PATH in environ:
        told.append(f"{SOCKET_PATH} has no effect on a session, which starts its own servers; env-server listens there")
    if SHM_NAME in environ:
        told.append(f"{SHM_NAME} has no effect: shared memory has a name that cannot be guessed")
    return told


def _is_true(environ: Mapping[str, str], name: str) -> bool:
    return bool(Parameter(name, default=False).parse(environ.get(name, "false")))
