"""What scripts log with other libraries, as it becomes curves."""

import struct
import sys
import threading
import traceback
from types import MappingProxyType, ModuleType, SimpleNamespace
from typing import Any

import pytest

from pac.training.watching.scalars import SCRIPT, call_before, scalar_hooks


@pytest.fixture
def shown(monkeypatch):
    """All figures that were shown, in a process that watches."""
    found: list[tuple[str, float]] = []
    script = SimpleNamespace(log_numbers=lambda figures: found.extend(dict(figures).items()))
    monkeypatch.setitem(sys.modules, SCRIPT, script)
    return found


def hooked(module, **content):
    """Return a module with some classes after its import, with the functions that show figures."""
    found = ModuleType(module)
    vars(found).update(content)
    scalar_hooks()[module](found)
    return found


def logger(*methods):
    """Return a class of a logger that returns the arguments of its methods."""
    return type("Logger", (), {name: lambda _self, *args, **kwargs: (args, kwargs) for name in methods})


class Value(SimpleNamespace):
    """A value of an event of TensorBoard."""

    def WhichOneof(self, _group):
        return next(name for name in ("simple_value", "tensor", "histo") if name in vars(self))


def tensor(kind, content=b"", floats=(), doubles=()):
    return SimpleNamespace(dtype=kind, tensor_content=content, float_val=floats, double_val=doubles)


def test_events_of_tensorboard_are_shown_whoever_writes_them(shown):
    """Numbers, and tensors of one number; histograms, images and texts are not."""
    values = [
        Value(tag="a", simple_value=1.0),
        Value(tag="b", tensor=tensor(1, floats=[2.0])),
        Value(tag="c", tensor=tensor(2, content=struct.pack("<d", 3.0))),
        Value(tag="image", tensor=tensor(7)),
        Value(tag="several", tensor=tensor(1, content=struct.pack("<2f", 3.0, 4.0))),
        Value(tag="nothing", tensor=tensor(1)),
        Value(tag="histogram", histo=()),
    ]
    for module in ("tensorboard.summary.writer.event_file_writer", "tensorboardX.event_file_writer"):
        writer = hooked(module, EventFileWriter=logger("add_event")).EventFileWriter()
        writer.add_event(SimpleNamespace(summary=SimpleNamespace(value=values)))
        assert shown == [("a", 1), ("b", 2), ("c", 3)]
        shown.clear()


@pytest.mark.parametrize("module", ["torch.utils.tensorboard.writer", "tensorboardX.writer"])
def test_a_value_that_passes_several_loggers_is_shown_once(shown, module):
    """A summary writer writes events, and Stable-Baselines3's logger writes with a summary writer."""
    events = hooked("tensorboard.summary.writer.event_file_writer", EventFileWriter=logger("add_event"))

    class SummaryWriter:
        def add_scalar(self, tag, scalar_value):
            value = Value(tag=tag, simple_value=scalar_value)
            events.EventFileWriter().add_event(SimpleNamespace(summary=SimpleNamespace(value=[value])))

        def add_scalars(self, main_tag, tag_scalar_dict):
            for value in tag_scalar_dict.values():
                self.add_scalar(main_tag, value)

    class Logger:
        name_to_value = MappingProxyType({"train/loss": 4.0})

        def dump(self):
            writer.add_scalar("train/loss", 4.0)

    writer = hooked(module, SummaryWriter=SummaryWriter).SummaryWriter()
    sb3 = hooked("stable_baselines3.common.logger", Logger=Logger, CSVOutputFormat=logger("write"))
    writer.add_scalar("loss", scalar_value=1.0)
    writer.add_scalars("losses", {"actor": 2.0, "critic": 3.0})
    sb3.Logger().dump()
    sb3.CSVOutputFormat().write({"csv": 5.0}, {}, 3)
    assert shown == [("loss", 1), ("losses/actor", 2), ("losses/critic", 3), ("train/loss", 4), ("csv", 5)]


@pytest.mark.parametrize("module", ["wandb.sdk.wandb_run", "trackio.run"])
def test_dicts_in_dicts_are_named_by_their_path(shown, module):
    """As Weights & Biases and trackio log them."""
    run = hooked(module, Run=logger("log")).Run()
    run.log({"loss": 1.0, "train": {"loss": 2.0, "deep": {"er": 3.0}}}, step=3)
    run.log(**{"data" if "wandb" in module else "metrics": {"loss": 4.0}})
    assert shown == [("loss", 1), ("train/loss", 2), ("train/deep/er", 3), ("loss", 4)]


def test_other_loggers_are_shown(shown):
    """MLflow, Lightning, Aim and TensorFlow."""
    client = hooked("mlflow.tracking.client", MlflowClient=logger("log_metric", "log_batch")).MlflowClient()
    client.log_metric("run", "a", 1.0, 0, 3, synchronous=True)
    client.log_batch(run_id="run", metrics=[SimpleNamespace(key="b", value=2.0)], params=[], tags=[])
    client.log_batch("run", params=[])
    for module in ("lightning.fabric.loggers.csv_logs", "lightning_fabric.loggers.csv_logs"):
        hooked(module, _ExperimentWriter=logger("log_metrics"))._ExperimentWriter().log_metrics({"c": 3.0}, 1)
    run = hooked("aim.sdk.run", Run=logger("track")).Run()
    run.track(4.0, name="d", step=1)
    run.track({"e": 5.0})
    tensorflow = hooked("tensorboard.plugins.scalar.summary_v2", scalar=lambda *_, **__: True)
    assert tensorflow.scalar("f", data=6.0, step=1)
    assert [value for _, value in shown] == [1, 2, 3, 3, 4, 5, 6]
    assert "".join(name for name, _ in shown) == "abccdef"


class Failing:
    """A logger that fails."""

    def log(self, loss):
        raise ValueError(loss, [frame.name for frame in traceback.extract_stack()][-2:])


def test_the_script_does_not_notice_that_its_logger_is_shown(shown):
    """Errors and their tracebacks are those of the logger, also for wrong arguments; other threads are shown, too."""

    failing: Any = Failing

    def errors():
        found = []
        for log in (lambda: failing().log(1.0), lambda: failing().log(), lambda: failing().log(1.0, lose=2.0)):
            try:
                log()
            except (TypeError, ValueError) as error:
                found.append((str(error), [frame.name for frame in traceback.extract_tb(error.__traceback__)]))
        return found

    expected = errors()
    call_before(Failing, "log", lambda _self, loss: {"loss": loss})
    assert errors() == expected
    thread = threading.Thread(target=errors)
    thread.start()
    thread.join()
    assert shown == [("loss", 1)] * 2


def test_nothing_is_computed_before_something_is_watched(monkeypatch):
    """A class without the method is left as it is."""
    monkeypatch.delitem(sys.modules, SCRIPT, raising=False)
    kind = logger("log")
    call_before(kind, "log", lambda *_: pytest.fail("computed"))
    call_before(kind, "track", dict)
    assert kind().log(1.0) == ((1.0,), {})
    assert not hasattr(kind, "track")


def test_the_files_of_tensorboard_are_shown(shown, tmp_path):
    """Those that its own writer of events writes, with the messages that it really uses."""
    writers = pytest.importorskip("tensorboard.summary.writer.event_file_writer")
    event, summary = (pytest.importorskip(f"tensorboard.compat.proto.{name}_pb2") for name in ("event", "summary"))
    module = hooked(
        "tensorboard.summary.writer.event_file_writer",
        EventFileWriter=type("EventFileWriter", (), dict(vars(writers.EventFileWriter))),
    )
    writer = module.EventFileWriter(str(tmp_path))
    values = [summary.Summary.Value(tag="loss", simple_value=0.5)]
    writer.add_event(event.Event(step=1, summary=summary.Summary(value=values)))
    writer.close()
    assert shown == [("loss", 0.5)]
