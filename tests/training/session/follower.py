"""A trainer with one process, which maps the buffer and writes down what it observes there."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import Field

from pac.training.random_policy import RandomPolicy
from pac.training.settings import TrainerSettings
from pac.training.trainer import BufferSpec, Context, Envs, Metrics, ProcessFailed, TrainerProcesses
from pac.training.trainers import TrainerKind


class FollowerSettings(TrainerSettings):
    file: str = Field("", description="where the process writes a line per step")
    crash: int = Field(0, description="the step at which the process fails")
    restarts: int = Field(0, description="how often the trainer starts it again")


class Follower(RandomPolicy):
    """Random actions; the process does the rest."""

    def __init__(self, context: Context) -> None:
        self.settings = FollowerSettings.read("follower", context.settings)
        self.context, self.restarts = context, 0
        self.processes: TrainerProcesses | None = None
        super().__init__(context)

    def buffer(self, num_envs: int) -> BufferSpec:
        return replace(super().buffer(num_envs), segment=True)

    def attach(self, envs: Envs) -> None:
        super().attach(envs)
        arguments = {"file": self.settings.file, "crash": self.settings.crash}
        self.processes = self.context.start_processes(f"{__name__}:follow", [arguments], envs)

    def iterate(self) -> Metrics:
        try:
            return {**super().iterate(), "restarts": float(self.restarts)}
        except ProcessFailed as error:
            if self.restarts == self.settings.restarts:
                raise
            self.restarts += 1
            assert self.processes is not None
            self.processes.restart(error.index)
            return {"restarts": float(self.restarts)}

    def detach(self) -> None:
        if self.processes is not None:
            self.processes.close()
        super().detach()


def follow(session: Any, arguments: Any) -> None:
    """Write down the first number of environment 1's observation in slot 0, at every pass of the gate."""
    with Path(arguments["file"]).open("a", encoding="ascii") as file:
        while True:
            session.pass_gate()
            if session.steps == arguments["crash"]:
                raise ValueError("broken observation")
            file.write(f"{session.buffer['observation'][0, 0, 0]}\n")
            file.flush()


KIND = TrainerKind(
    name="follower",
    title="A trainer with a process",
    trainer=f"{__name__}:Follower",
    settings=f"{__name__}:FollowerSettings",
    computes=False,
)
