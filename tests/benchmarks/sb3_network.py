"""Our board network as a policy of SB3-contrib's `MaskablePPO`, with a check that it computes the same function."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from pac.envs import Task
from pac.training.bench.facts import Results
from pac.training.bench.measured_process import MeasurementFailed

if TYPE_CHECKING:
    from torch import nn

    from pac.training.ppo.policy import PpoPolicy

SETTINGS: Results = {
    "learning_rate": 3e-4,
    "gamma": 0.99,
    "gae_lambda": 0.95,
    "clip": 0.2,
    "value_coefficient": 0.5,
    "huber_value_loss": False,
    "entropy_coefficient": 0.01,
    "max_grad_norm": 0.5,
    "batch": 512,
    "epochs": 4,
    "minibatch": 128,
}
PLAYED = 20
"""Step of the game at which the networks are compared."""


def sb3_policy() -> Any:
    """Return an SB3 policy class with the layers of our board network."""
    import torch
    from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
    from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
    from torch import nn

    from pac.training.nets.line_convolution import REACH
    from pac.training.ppo.policy import VALUE_CHANNELS
    from pac.training.ppo.settings import PpoSettings

    class Trunk(BaseFeaturesExtractor):
        """The convolutions."""

        def __init__(self, space: Any, settings: PpoSettings) -> None:
            planes, height, width = space.shape
            super().__init__(space, settings.channels * height * width)
            size, channels = 2 * REACH + 1, settings.channels
            self.column = nn.Conv2d(planes, channels - channels // 2, (size, 1), padding=(REACH, 0))
            self.row = nn.Conv2d(planes, channels // 2, (1, size), padding=(0, REACH))
            layers: list[nn.Module] = [nn.ReLU()]
            for _ in range(settings.layers - 1):
                layers += [nn.Conv2d(channels, channels, 1), nn.ReLU()]
            self.mixing = nn.Sequential(*layers, nn.Flatten())

        def forward(self, board: torch.Tensor) -> torch.Tensor:
            features: torch.Tensor = self.mixing(torch.cat((self.column(board), self.row(board)), 1))
            return features

    class SamePolicy(MaskableActorCriticPolicy):
        """Actions and values from the same convolutions."""

        action_net: Any
        value_net: Any

        def __init__(self, *args: Any, task: Task, **kwargs: Any) -> None:
            self.task, self.settings = task, PpoSettings.for_task(task, SETTINGS)
            kwargs |= {"net_arch": [], "features_extractor_class": Trunk, "normalize_images": False}
            kwargs["features_extractor_kwargs"] = {"settings": self.settings}
            super().__init__(*args, **kwargs)

        def _build(self, lr_schedule: Callable[[float], float]) -> None:
            super()._build(lr_schedule)
            channels, hidden = self.settings.channels, self.settings.hidden
            per_cell, *board = self.task.action_shape
            shape = (channels, *board)
            self.action_net = nn.Sequential(nn.Unflatten(1, shape), nn.Conv2d(channels, per_cell, 1), nn.Flatten())
            self.value_net = nn.Sequential(
                nn.Unflatten(1, shape),
                nn.Conv2d(channels, VALUE_CHANNELS, 1),
                nn.ReLU(),
                nn.Flatten(),
                nn.Linear(VALUE_CHANNELS * board[0] * board[1], hidden),
                nn.ReLU(),
                nn.Linear(hidden, 1),
            )
            self.optimizer = torch.optim.Adam(self.parameters(), lr=lr_schedule(1), eps=1e-5)

    return SamePolicy


def check_same(theirs: nn.Module, task: Task) -> None:
    """Copy our initial weights into SB3's policy, and check that it then computes the same function."""
    import torch

    from pac.envs.check import TrialRun
    from pac.training.ppo.policy import PpoPolicy
    from pac.training.ppo.settings import PpoSettings

    ours = PpoPolicy(task, PpoSettings.for_task(task, SETTINGS), torch.Generator().manual_seed(0))
    _copy_weights(ours, theirs)
    play = TrialRun(task, (0, 4), seed=0)
    play.begin()
    for _ in range(PLAYED):
        play.step(play.choose())
    stored = torch.from_numpy(play.buffers["observation"][play.slot])
    with torch.no_grad():
        logits, value = ours(stored, None)
        features: Any = theirs.extract_features(ours.decode(stored))  # type: ignore[operator]
        same = (theirs.action_net(features), theirs.value_net(features).squeeze(-1))  # type: ignore[operator]
    if not all(torch.allclose(a, b, atol=1e-5) for a, b in zip((logits, value), same, strict=True)):
        raise MeasurementFailed("SB3's network computes another function than ours, so a comparison is meaningless")


def _copy_weights(ours: PpoPolicy, theirs: nn.Module) -> None:
    import torch
    from torch import nn

    network: Any = ours.network
    given: list[Any] = [layer for layer in theirs.modules() if isinstance(layer, nn.Linear | nn.Conv2d)]
    split = network.per_cell
    ones = (network.lines.column, network.lines.row, *network.mixing)
    wanted = [(layer.weight, layer.bias) for layer in ones]
    wanted += [(network.cell.weight[:split], network.cell.bias[:split])]
    wanted += [(network.cell.weight[split:], network.cell.bias[split:])]
    wanted += [(network.value[0].weight, network.value[0].bias), (network.value[2].weight, network.value[2].bias)]
    with torch.no_grad():
        for layer, (weight, bias) in zip(given, wanted, strict=True):
            layer.weight.copy_(weight.reshape(layer.weight.shape))
            layer.bias.copy_(bias)
