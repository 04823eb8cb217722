"""What the choice of a script's policy depends on: its gradient by what the first layer was given.

While it is wanted, the layers of PyTorch that the script calls are noted, with the displayed environment's row of what
they were given and returned. Which layer follows which is known by these numbers. The gradient is then computed from
layer to layer by the derivative of each, with its present weights. No module is copied or called again, since the
script's own could do anything. Autograd is not used: the threads that it starts for a GPU keep forks from using it.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from time import perf_counter, thread_time
from typing import Any, NamedTuple

import numpy as np

from ..telemetry.moments import MOST_GIVEN
from ..trainer import Saliency

PERIOD, LIMIT, REST = 1.0, 0.005, 60.0
"""Seconds between two steps whose layers are noted; what it may take of the CPU, and how long to wait then."""
MOST_CALLS, MOST_BYTES = 256, 16 << 20
"""Calls of layers that are noted in a step, and bytes of what they were given and returned."""
MOST_VAIN = 10
"""Steps without a policy after which it is said that there is none."""
TOLERANCE = 1e-4
"""By how much the output of a layer may differ from what its weights say, as a share of the largest number."""
CONVOLUTIONS = {"Conv1d": 1, "Conv2d": 2, "Conv3d": 3}
SAME = frozenset({"Flatten", "Identity", "Dropout", "Dropout1d", "Dropout2d", "Dropout3d"})
"""Layers that return the numbers that they were given; those with dropout, while they do not train."""


class Call(NamedTuple):
    """A call of a layer: its kind, itself, and the displayed environment's row of what it was given and returned."""

    kind: str
    layer: Any
    given: Any
    result: Any


def _linear(call: Call, g: Any) -> Any:
    return g @ _checked(call, call.given @ call.layer.weight.detach().T)


def _checked(call: Call, product: Any) -> Any:
    """Return the weights of a layer, if they are those that it has used.

    Raises:
        NotFollowed: They are not.
    """
    layer = call.layer
    if layer.bias is not None:
        product = product + layer.bias.detach().reshape(-1, *[1] * CONVOLUTIONS.get(call.kind, 0))
    error = (product - call.result).abs().max() if product.dtype == call.result.dtype else math.inf
    if not error <= TOLERANCE * (1 + call.result.abs().max()):
        raise NotFollowed(f"a {call.kind} has returned something else than what its weights say")
    return layer.weight.detach()


def _convolution(call: Call, g: Any) -> Any:
    torch, layer = sys.modules["torch"], call.layer
    if layer.padding_mode != "zeros" or isinstance(layer.padding, str):
        raise NotFollowed(f"a {call.kind} with {layer.padding_mode} padding is not followed")
    how = layer.stride, layer.padding, layer.dilation, False, [0] * len(layer.stride), layer.groups
    product = torch.convolution(call.given[None], layer.weight.detach(), None, *how)[0]
    weight = _checked(call, product)
    backward = torch.ops.aten.convolution_backward
    return backward(g[None], call.given[None], weight, None, *how, [True, False, False])[0][0]


def _layer_norm(call: Call, g: Any) -> Any:
    numbers, layer = call.given, call.layer
    centred = numbers - numbers.mean()
    scale = (centred.square().mean() + layer.eps).rsqrt()
    g = g if layer.weight is None else g * layer.weight.detach()
    return scale * (g - g.mean() - centred * scale.square() * (g * centred).mean())


def _gelu(call: Call, g: Any) -> Any:
    return sys.modules["torch"].ops.aten.gelu_backward(g, call.given, approximate=call.layer.approximate)


def _softplus(call: Call, g: Any) -> Any:
    x, layer = call.given, call.layer
    return g * (x * layer.beta).sigmoid().where(x * layer.beta <= layer.threshold, x.new_ones(()))


def _silu(call: Call, g: Any) -> Any:
    share = call.given.sigmoid()
    return g * share * (1 + call.given * (1 - share))


DERIVATIVES: dict[str, Callable[[Call, Any], Any]] = {
    "Linear": _linear,
    **dict.fromkeys(CONVOLUTIONS, _convolution),
    "LayerNorm": _layer_norm,
    "ReLU": lambda call, g: g * (call.result > 0),
    "Tanh": lambda call, g: g * (1 - call.result.square()),
    "Sigmoid": lambda call, g: g * call.result * (1 - call.result),
    "LeakyReLU": lambda call, g: g.where(call.given > 0, g * call.layer.negative_slope),
    "ELU": lambda call, g: g.where(call.given > 0, g * call.layer.alpha * call.given.exp()),
    "SiLU": _silu,
    "GELU": _gelu,
    "Softplus": _softplus,
    **dict.fromkeys(SAME, lambda _call, g: g),
}
"""By kind of layer: the gradient by what it was given, from the one by what it returned, in that shape."""
ENDS = frozenset({"Softmax", "LogSoftmax"})
"""Layers that turn logits into what a distribution is made of."""
Link = tuple[Callable[[Any], Any], Callable[[Any, Any], Any]]
LINKS: Sequence[Link] = (
    (lambda numbers: numbers, lambda g, _: g),
    (lambda numbers: numbers.clamp_min(0), lambda g, numbers: g * (numbers > 0)),
    (lambda numbers: numbers.tanh(), lambda g, numbers: g * (1 - numbers.tanh().square())),
)
"""What a script may compute from the output of a layer for the next one, and its derivative."""
NORMALIZED: Sequence[Link] = (
    LINKS[0],
    (lambda numbers: numbers.log_softmax(-1), lambda g, _: g),
    (lambda numbers: numbers.softmax(-1), lambda g, _: g),
)
"""What a distribution computes from logits; the gradient is that of the logit."""


class NotFollowed(Exception):
    """Why it cannot be said what a choice depends on."""


class NotedLayers:
    """Notes the layers that a script calls in a step, and says what the policy's choice depended on.

    Args:
        num_envs: Number of environments N.

    Attributes:
        notes: Whether the calls of this step are noted.
        found: What was found last; None before the first time.
        named: How many numbers an observation has that is one vector; otherwise 0.
    """

    def __init__(self, num_envs: int) -> None:
        self._num_envs, self._row, self._asked, self._due = num_envs, 0, False, 0.0
        self.notes, self.named = False, 0
        self.found: Saliency | None = None
        self._vain = 0
        self._computed = False  # PyTorch prepares for the first time
        self._begin_noting()

    def _begin_noting(self) -> None:
        self._calls: list[Call] = []
        self._bytes, self._took = 0, 0.0
        self._obstacle, self._unclear = "", False

    def ask(self, row: int) -> None:
        """Have the next step that is observed noted for an environment, unless the last one was a moment ago."""
        if row != self._row:
            self._row, self.found, self._vain, self.notes = row, None, 0, False
        self._asked = True

    def begin(self, *, compiled: bool) -> None:
        """Note the step that is about to be observed, if that was asked for and is due."""
        self._begin_noting()
        self.notes = self._asked and perf_counter() >= self._due
        if self.notes and compiled:
            self.notes = False
            self._say("modules that PyTorch has compiled are not looked into")

    def forget(self) -> None:
        """Forget what was noted so far in this step."""
        self._begin_noting()

    def stop(self) -> None:
        """Note nothing any more in this step."""
        self.notes = False
        self._begin_noting()

    def _say(self, why: str) -> None:
        self.found = Saliency(np.zeros(0, np.float32), "", note=why)

    def note(self, layer: Any, given: Any, result: Any) -> None:
        """Note the call of a module, if it is a layer with one row per environment."""
        begun = thread_time()
        try:
            self._note(layer, given, result)
        except Exception:  # of a module or a version of PyTorch that is not known
            self._miss(f"a layer {type(layer).__name__} is not followed")
        self._took += thread_time() - begun

    def _note(self, layer: Any, given: Any, result: Any) -> None:
        torch = sys.modules["torch"]
        scripted, own = isinstance(layer, torch.jit.ScriptModule), not type(layer).__module__.startswith("torch.nn.")
        if layer._modules and not scripted and (own or type(layer) is torch.nn.Sequential):  # noqa: SLF001
            return  # its layers are called, too
        kind = type(layer).__name__
        if _is_observed(torch):
            self._miss("the script observes or changes what PyTorch computes")
        elif scripted or type(given) is not torch.Tensor or type(result) is not torch.Tensor:
            self._miss(f"a layer {kind} is not followed")
        elif given.device.type != "cpu":
            self._miss("the policy is on a GPU, from which nothing is read for this")
        else:
            axes = _axes_of(kind, layer)
            rows = self._row_of(given, axes), self._row_of(result, axes)
            self._bytes += sum(0 if row is None else row.numel() * row.element_size() for row in rows)
            if rows[0] is None or rows[1] is None:
                other = given.dim() > 1 and len(given) != self._num_envs
                self._miss(f"its layers were given {len(given)} rows, not one for each environment" if other else "")
            elif len(self._calls) < MOST_CALLS and self._bytes < MOST_BYTES:
                self._calls.append(Call(kind, layer, *(row.clone() for row in rows)))
            else:
                self._miss("it has more layers than are noted")

    def _miss(self, why: str) -> None:
        """A layer is not noted; what those depend on that are noted later is not certain."""
        self._obstacle, self._unclear = self._obstacle or why, self._unclear or not self._calls

    def _row_of(self, tensor: Any, axes: int | None) -> Any:
        """Return the environment's part of a tensor, which has `axes` axes, or any; None if there is none."""
        shape, tensor = tensor.shape, tensor.detach()
        if axes is not None:
            lead = shape[: max(0, len(shape) - axes)]
            if math.prod(lead) == self._num_envs:
                return tensor[self._row] if len(lead) == 1 else tensor.reshape(-1, *shape[len(lead) :])[self._row]
            return None
        if shape and shape[0] == self._num_envs:
            return tensor[self._row]
        if shape[:2] == (1, self._num_envs):
            return tensor[0, self._row]
        return tensor if self._num_envs == 1 and len(shape) in {1, 3} else None

    def finish(self, of: str, rows: Sequence[Any]) -> None:
        """Find out what the choice of the step that was just made depended on.

        Args:
            of: Of which number of the policy's.
            rows: What the policy has computed for the environment, or what this was computed from; none if it is
                unknown.
        """
        self.notes, self._due = False, perf_counter() + PERIOD
        begun = thread_time()
        if not rows:
            self._vain += 1
            if self._vain >= MOST_VAIN:
                self._say(self._obstacle or "nothing that the script computed between two steps is known as its policy")
            self._begin_noting()
            return
        self._vain, self._asked = 0, False
        try:
            self.found = self._salient(of, [row.reshape(-1) for row in rows])
        except NotFollowed as why:
            self._say(str(why))
        except Exception as error:  # of layers or a version of PyTorch that is not known
            self._say(f"it could not be computed: {type(error).__name__}")
        self._took += thread_time() - begun
        slow, self._computed = self._took > LIMIT and self._computed, True
        if slow:
            self._due = perf_counter() + REST
            if self.found is not None and self.found.of:
                took, most = 1000 * self._took, 1000 * LIMIT
                text = (
                    f"this took {took:.1f} ms of the CPU, more than {most:.0f} ms: the next one follows in {REST:.0f} s"
                )
                self.found = replace(self.found, note=text)
        self._begin_noting()

    def _salient(self, of: str, rows: list[Any]) -> Saliency:
        torch, calls = sys.modules["torch"], self._calls
        if _is_observed(torch):
            raise NotFollowed("the script observes or changes what PyTorch computes")
        if not calls:
            raise NotFollowed(self._obstacle or "the policy has no layers of torch.nn")
        links = NORMALIZED if of == "logit" else LINKS
        at, link, row = next(
            ((*found, row) for row in rows if (found := _source(calls, row, links))), (-1, LINKS[0], None)
        )
        if row is None:
            raise NotFollowed(self._obstacle or "what it computes from the output of its last layer is not followed")
        chosen = 0 if of == "mean" else int(row.argmax())
        gradient = torch.zeros_like(row)
        gradient[chosen] = 1
        ends = of == "logit"
        while True:
            call = calls[at]
            gradient = link[1](gradient, call.result.reshape(-1))
            ends = ends and call.kind in ENDS
            if not ends:
                gradient = self._through(call, gradient)
            before = _source(calls[:at], call.given.reshape(-1), LINKS)
            if before is None:
                break
            at, link = before
            gradient = gradient.reshape(-1)
        first = calls[0].given
        if self._unclear or not _equal(first.reshape(-1), call.given.reshape(-1)):
            raise NotFollowed(self._obstacle or "between its layers, it computes something that is not followed")
        if call.given.numel() > MOST_GIVEN:
            raise NotFollowed(f"its first layer is given {call.given.numel():,} numbers, more than {MOST_GIVEN:,}")
        action = None if of == "mean" else np.array(chosen)
        named = call.given.dim() == 1 and len(call.given) == self.named
        given, slope = (np.array(each.float().numpy()) for each in (call.given, gradient.reshape(call.given.shape)))
        return Saliency(slope, of, action, given=given, named=named)

    @staticmethod
    def _through(call: Call, gradient: Any) -> Any:
        """Return the gradient by what a layer was given."""
        kind, layer, torch = call.kind, call.layer, sys.modules["torch"]
        if kind not in DERIVATIVES or type(layer) is not getattr(torch.nn, kind, None):
            raise NotFollowed(f"a layer {kind} is not followed")
        if kind.startswith("Dropout") and layer.training and layer.p:
            raise NotFollowed("dropout is on while the policy acts, and it is not followed")
        changed = layer._forward_hooks or layer._forward_pre_hooks or "forward" in vars(layer)  # noqa: SLF001
        if changed or (getattr(layer, "inplace", False) and kind not in {"ReLU", *SAME}):
            raise NotFollowed(f"a layer {kind} that has hooks or works in place is not followed")
        if any(type(weight) not in {torch.Tensor, torch.nn.Parameter} for weight in layer.parameters()):
            raise NotFollowed(f"the weights of a layer {kind} are of an unknown kind")
        return DERIVATIVES[kind](call, gradient.reshape(call.given.shape if kind in SAME else call.result.shape))


def _axes_of(kind: str, layer: Any) -> int | None:
    """Return how many axes one row of what a layer is given has; None if that is not fixed."""
    with suppress(AttributeError, TypeError):
        if kind == "LayerNorm":
            return len(layer.normalized_shape)
    return 1 if kind == "Linear" or kind in ENDS else CONVOLUTIONS[kind] + 1 if kind in CONVOLUTIONS else None


def _is_observed(torch: Any) -> bool:
    """Whether the script would see what is computed here: it traces, profiles or changes the functions of PyTorch."""
    inner = torch._C  # noqa: SLF001 - there is no other way to ask
    counts = (getattr(inner, f"_len_torch_{kind}_stack", int)() for kind in ("dispatch", "function"))
    tracing = getattr(inner, "_get_tracing_state", lambda: None)() is not None
    return tracing or any(counts) or bool(inner._autograd._profiler_enabled())  # noqa: SLF001


def _source(calls: Sequence[Call], row: Any, links: Sequence[Link]) -> tuple[int, Link] | None:
    """Return the newest call whose result, maybe after a function, is a row, and that function; None without one."""
    for link in links:
        for at in reversed(range(len(calls))):
            if calls[at].result.numel() == row.numel() and _equal(link[0](calls[at].result.reshape(-1)), row):
                return at, link
    return None


def _equal(one: Any, other: Any) -> bool:
    """Whether two rows have the same numbers, but for rounding."""
    torch = sys.modules["torch"]
    return one.dtype == other.dtype and one.shape == other.shape and bool(torch.allclose(one, other, 1e-5, 1e-7))
