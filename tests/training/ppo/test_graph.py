"""Rollouts that are replayed as a whole, as a CUDA graph does."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from pac.envs import BadParameter
from pac.training.ppo.graph import CapturedPasses, DirectGraph
from pac.training.ppo.trainer import PPO

from .device_training import training

ITERATIONS = 4


class Tape(TorchDispatchMode):
    """Notes operations on tensors, to make them again with the same arguments and results; undoes what they wrote."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[Callable[[], object]] = []
        self._before: list[tuple[Tensor, Tensor]] = []

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        """Make an operation, and note it."""
        given = dict(kwargs or {})
        for argument, value in zip(func._schema.arguments, args, strict=False):
            if argument.alias_info is not None and argument.alias_info.is_write:
                self._before += [(tensor, tensor.clone()) for tensor in (value if isinstance(value, list) else [value])]
        result = func(*args, **given)

        def again() -> None:
            for kept, new in zip(tree_leaves(result), tree_leaves(func(*args, **given)), strict=True):
                if isinstance(kept, Tensor) and kept.data_ptr() != new.data_ptr():
                    kept.copy_(new)

        self.calls.append(again)
        return result

    @torch.no_grad()
    def undo(self) -> None:
        """Restore what the operations overwrote."""
        for tensor, before in reversed(self._before):
            tensor.copy_(before)


class TapedGraph:
    """Captures as a GPU does: nothing happens at the capture, and no Python runs in a replay."""

    tape: Tape | None = None

    def __init__(self) -> None:
        self._calls: list[Callable[[], object]] = []

    def capture(self, launch: Callable[[], None]) -> None:
        """Note what a function does."""
        with Tape() as tape:
            TapedGraph.tape = tape
            launch()
        TapedGraph.tape = None
        tape.undo()
        self._calls = tape.calls

    @torch.no_grad()
    def replay(self) -> None:
        """Do it again."""
        for call in self._calls:
            call()


@pytest.fixture
def taped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let graphs note operations on tensors, and launches of environments."""
    from pac.envs.launching import CpuLauncher

    made = CpuLauncher.step

    def step(launcher: CpuLauncher, slot: int) -> None:
        if TapedGraph.tape is None:
            made(launcher, slot)
        else:
            TapedGraph.tape.calls.append(lambda: made(launcher, slot))

    monkeypatch.setattr(CpuLauncher, "step", step)
    monkeypatch.setattr("pac.training.ppo.graph.DirectGraph", TapedGraph)


def learned(trainer: PPO) -> tuple[dict[str, float], dict[str, Tensor]]:
    """Train; return the figures and the weights."""
    for _ in range(ITERATIONS):
        metrics = trainer.iterate()
    return metrics, {name: each.clone() for name, each in trainer.policy.state_dict().items()}


def check_equal(spec: str, device: str = "apart", policy: str = "cpu", **settings: Any) -> None:
    """Check that replayed rollouts and updates lead to the same weights as those that are made step by step."""
    found = []
    for graph in (False, True):
        with training(spec, device, policy=policy, cuda_graph=graph, **settings) as trainer:
            found.append(learned(trainer))
            assert graph == (trainer._captured is not None and trainer._captured._captured)
            passes = trainer.learner.passes
            assert graph == (isinstance(passes, CapturedPasses) and passes.captured is not None)
    (here, weights), (there, others) = found
    assert here == there
    assert all(torch.equal(weights[name], others[name]) for name in weights)


@pytest.mark.session
def test_replayed_rollouts_change_nothing() -> None:
    """The weights are the same, bit for bit."""
    check_equal("autochess:players=8")


@pytest.mark.session
@pytest.mark.usefixtures("taped")
@pytest.mark.parametrize(
    ("spec", "settings"),
    [
        ("drmario:level=2", {"precision": "bfloat16", "epochs": 2, "entropy_coefficient": "0:0.1,256:0.0"}),
        ("treasure:turns=10", {"normalize_observation": True, "learning_rate": "0:1e-3,256:1e-4", "target_kl": 1.0}),
    ],
)
def test_a_replay_needs_nothing_from_the_host(spec: str, settings: dict[str, Any]) -> None:
    """Made again with the arguments of the capture, operations and launches lead to the same weights."""
    check_equal(spec, **settings)


@pytest.mark.session
def test_rollouts_step_by_step_can_come_between_replays(monkeypatch: pytest.MonkeyPatch) -> None:
    """During a pause, a breakpoint or a recording, the random numbers continue where they are."""
    with training("drmario:level=2", "apart") as trainer:
        expected = learned(trainer)[1]
    turns = iter([True, False, True, False])
    monkeypatch.setattr("pac.backends.device.backend.DeviceBackend.stepwise", property(lambda _: next(turns)))
    with training("drmario:level=2", "apart", cuda_graph=True) as trainer:
        found = learned(trainer)[1]
    assert all(torch.equal(expected[name], found[name]) for name in found)


def test_an_update_that_cannot_be_captured_is_made_step_by_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its weights are the same, and its reason is told once."""

    class Refusing(DirectGraph):
        def capture(self, _launch: Callable[[], None]) -> None:
            raise RuntimeError("operation not permitted when stream is capturing")

    told: list[str] = []
    with training("drmario:level=2", "apart") as trainer:
        expected = learned(trainer)[1]
    with training("drmario:level=2", "apart") as trainer:
        monkeypatch.setattr("pac.training.ppo.graph.DirectGraph", Refusing)
        trainer.learner.passes = CapturedPasses(told.append)
        found = learned(trainer)[1]
    assert all(torch.equal(expected[name], found[name]) for name in found)
    (text,) = told
    assert "made step by step: operation not permitted" in text


@pytest.mark.thorough
def test_other_settings_and_sizes_are_captured_anew_or_made_step_by_step() -> None:
    """A coefficient is a number in the graph, so a change of it needs another one; sizes belong to one rollout."""
    found = []
    for graph in (False, True):
        with training("staghunt", "apart", cuda_graph=graph, batch=128) as trainer:
            learned(trainer)
            trainer.change_settings(trainer.settings.model_copy(update={"value_coefficient": 2.0}).model_dump())
            found.append(learned(trainer)[1])
    assert all(torch.equal(found[0][name], found[1][name]) for name in found[0])


@pytest.mark.thorough
def test_a_replay_leaves_the_last_decision_to_the_inspector() -> None:
    """It is the one of the last step, with the values that viewers see."""
    decided = []
    for graph in (False, True):
        with training("drmario:level=2", "apart", cuda_graph=graph) as trainer:
            learned(trainer)
            assert trainer.decided is not None
            decided.append([each.clone() for each in trainer.decided])
    assert all(torch.equal(one, other) for one, other in zip(*decided, strict=True))


@pytest.mark.parametrize(
    ("device", "overlap", "reported"),
    [
        ("cpu", False, "ppo.cuda_graph: .*use --backend device --device cuda"),
        ("apart", True, "set ppo.overlap to false"),
    ],
)
def test_what_cannot_be_captured_is_refused(device: str, overlap: bool, reported: str) -> None:
    """Environments on the host, and a learner in a thread, which would use the device during the capture."""
    with (
        pytest.raises(BadParameter, match=reported),
        training("drmario:level=2", device, cuda_graph=True, overlap=overlap),
    ):
        pass


@pytest.mark.gpu
@pytest.mark.timeout(600)
@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
@pytest.mark.parametrize("spec", ["drmario:level=2", "treasure:turns=10"])
def test_a_cuda_graph_changes_nothing(spec: str, precision: str) -> None:
    """The same on a GPU, where the kernels and the network of all steps are one launch, and those of a pass."""
    check_equal(spec, "cuda", "cuda", precision=precision)
