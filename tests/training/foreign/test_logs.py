"""Logs of other programs: what is read of them, and that nothing in them does harm."""

import os
import random

import numpy as np
import pytest

from pac.envs.files import UnreadableFile
from pac.training.foreign.logs import TOGETHER, find_logs, read_log
from pac.training.foreign.series import MOST_POINTS, AllSeries

from .writing import event, record, tensor_event, write_events, write_wandb

NAME = "events.out.tfevents.1.host"


def test_scalars_of_tensorboard_are_read(tmp_path):
    """As numbers and as tensors, with steps and seconds, by their names and by those that they have here."""
    events = [event(10 * k, 1e9 + k, rollout__ep_rew_mean=k / 2) for k in range(5)]
    path = write_events(tmp_path / "PPO_1" / NAME, [b"\x1a\x0dbrain.Event:2", *events, tensor_event(7, "loss", 0.25)])
    (log,) = find_logs(tmp_path)
    assert (log.name, log.path) == ("PPO_1", path.parent)
    found = read_log(log.path)
    assert found.points == {"rollout/ep_rew_mean": 5, "loss": 1}
    curve = found.curves["return_mean"]
    assert [*zip(curve.steps, curve.values, strict=True)] == [(0, 0), (10, 0.5), (20, 1), (30, 1.5), (40, 2)]
    assert curve.seconds.tolist() == found.curves["rollout/ep_rew_mean"].seconds.tolist()
    assert found.curves["loss"].values.tolist() == [0.25]
    assert not found.notice


def test_a_resumed_run_is_one_curve(tmp_path):
    """Its files follow each other, and a later one replaces the steps that it repeats."""
    write_events(tmp_path / f"{NAME}.0", [event(k, 1.0, a=1.0) for k in range(10)])
    write_events(tmp_path / f"{NAME}.1", [event(k, 2.0, a=2.0) for k in range(5, 8)])
    (log,) = find_logs(tmp_path)
    curve = read_log(log.path).curves["a"]
    assert curve.steps.tolist() == [0, 1, 2, 3, 4, 5, 6, 7]
    assert curve.values.tolist() == [1] * 5 + [2] * 3


def test_many_files_in_one_folder_are_runs_of_their_own(tmp_path):
    """The newest first."""
    for number in range(TOGETHER + 1):
        path = write_events(tmp_path / f"{NAME}.{number}", [event(1, 1.0, a=float(number))])
        os.utime(path, (number, number))
    logs = find_logs(tmp_path)
    assert [log.name for log in logs[:2]] == [f"{NAME}.{TOGETHER}", f"{NAME}.{TOGETHER - 1}"]
    assert read_log(logs[0].path).curves["a"].values.tolist() == [TOGETHER]


def test_what_precedes_damage_is_read(tmp_path):
    """A file that is being written ends in the middle of a record, which is no damage; a wrong checksum is."""
    good = [record(event(k, 1.0, a=float(k))) for k in range(3)]
    path = tmp_path / NAME
    path.write_bytes(b"".join(good)[:-5])
    assert (read_log(path).points, read_log(path).notice) == ({"a": 2}, "")
    broken = bytearray(b"".join(good))
    broken[len(good[0]) + 20] ^= 1
    path.write_bytes(broken)
    found = read_log(path)
    assert found.points == {"a": 1}
    assert "is damaged" in found.notice
    path.write_bytes(record(b"x" * 200_000) + good[0])
    assert read_log(path).points == {"a": 1}


def test_a_long_curve_is_thinned_evenly(tmp_path):
    """However long it is, its memory is bounded, and its last point is kept."""
    series = AllSeries()
    for step in range(50_001):
        series.add("a", step, 0.0, float(step))
    steps = series.curves()["a"].steps
    assert MOST_POINTS / 2 <= len(steps) <= MOST_POINTS
    assert steps[-1] == 50_000
    assert len(set(np.diff(steps)[:-1].tolist())) == 1


def test_the_history_of_wandb_is_read(tmp_path):
    """Numbers, NaN among them, also of records that cross a block."""
    lines = [{"loss": str(k), "bad": "NaN", "text": '"x"', "picture": f'"{"y" * 50_000}"'} for k in range(4)]
    path = write_wandb(tmp_path / "run-a.wandb", lines)
    assert [log.kind for log in find_logs(tmp_path)] == ["W&B"]
    found = read_log(path)
    assert found.points == {"loss": 4, "bad": 4}
    assert found.curves["loss"].steps.tolist() == [0, 1, 2, 3]
    assert np.isnan(found.curves["bad"].values).all()


@pytest.mark.parametrize(
    ("name", "text", "curve", "expected"),
    [
        ("progress.csv", "rollout/ep_rew_mean,time/total_timesteps\n1.5,100\n,200\n2.5,300\n", "return_mean", 1.5),
        ("0.monitor.csv", '#{"t_start": 1.0}\nr,l,t\n1.5,100,0.5\n2.5,200,0.9\n', "return_mean", 1.5),
        ("metrics.csv", "epoch,step,train_loss\n0,100,\n0,100,1.5\n1,300,2.5\n", "train_loss", 1.5),
    ],
)
def test_tables_are_read(tmp_path, name, text, curve, expected):
    """Of Stable-Baselines3 and Lightning; an empty cell is no point."""
    (tmp_path / name).write_text(text)
    (log,) = find_logs(tmp_path)
    found = read_log(log.path).curves[curve]
    assert found.steps.tolist() == [100, 300]
    assert found.values.tolist() == [expected, expected + 1]


def test_damaged_bytes_do_no_harm(tmp_path):
    """Whatever is changed, the result is curves or an error that names the file."""
    generator = random.Random(1)
    files = [
        write_events(tmp_path / NAME, [event(k, 1.0, a=1.0, b=2.0) for k in range(9)]),
        write_wandb(tmp_path / "run-a.wandb", [{"a": "1"}] * 9),
        tmp_path / "metrics.csv",
    ]
    files[2].write_text("step,a\n1,2\n3,4\n")
    for path in files:
        sound = path.read_bytes()
        for _ in range(100):
            data = bytearray(sound)
            for _ in range(generator.randint(1, 4)):
                data[generator.randrange(len(data))] = generator.randrange(256)
            path.write_bytes(data[: generator.randint(0, len(data))])
            try:
                read_log(path)
            except UnreadableFile as error:
                assert path.name in str(error)  # noqa: PT017 - both are right


def test_messages_that_lie_do_no_harm(tmp_path):
    """Sizes beyond the data, integers without an end, numbers of another size, huge records, and links."""
    for data in (b"\x2a\xff\xff\xff\xff\x0f", b"\x10" + b"\xff" * 20, b"\x09abc", b"\x0c", b"\x0a\x05abcde\x2a\x01a"):
        write_events(tmp_path / NAME, [event(1, 1.0, a=1.0), data, event(2, 1.0, a=2.0)])
        assert read_log(tmp_path / NAME).points == {"a": 2}
    (tmp_path / NAME).write_bytes(b"\xff" * 100)
    with pytest.raises(UnreadableFile, match="is damaged"):
        read_log(tmp_path / NAME)
    (tmp_path / NAME).unlink()
    (tmp_path / NAME).symlink_to("/dev/zero")
    os.mkfifo(tmp_path / "progress.csv")
    assert find_logs(tmp_path) == []
    with pytest.raises(UnreadableFile, match="regular file was expected"):
        read_log(tmp_path / "progress.csv")
