"""Recordings of PyTorch's profiler: clock, lanes, shares of the time, and what ends them."""

import math
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from threading import Event, Thread
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch._C._autograd import _profiler_enabled
from torch.autograd.profiler import profile as foreign_profile

from pac.training.kernels import kernel_events, kernel_use
from pac.training.profile import Malformed
from pac.training.session.control import CommandRefused
from pac.training.session.kernels import KernelRecorder, KernelRecording, named
from pac.training.session.tracing import packed

NEAR = 300_000
"""Ns by which the clocks may differ."""


def multiplied(matrix, times):
    """Multiply, and note when that began and ended."""
    begin = time.monotonic_ns()
    found = matrix @ matrix
    if found.is_cuda:
        torch.cuda.synchronize()
    times.append((begin, time.monotonic_ns()))


def recorded(device, size, seconds=0.15):
    """What is recorded while this thread multiplies at the gate and another one adds, and when it multiplied."""
    times: list[tuple[int, int]] = []
    matrix, steps, done = torch.ones(size, size, device=device), [0], Event()
    recorder = KernelRecorder(lambda: device, lambda: steps[0], lambda: None)

    def adds():
        while not done.is_set():
            matrix.add(1.0)
            time.sleep(0.005)

    other = Thread(target=adds, name="other")
    other.start()
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(recorder.record, seconds, math.nan)
        while not answer.done():
            recorder.pass_gate()
            multiplied(matrix, times)
            steps[0] += 1
            time.sleep(0.002)
        done.set()
        other.join()
        return kernel_events(answer.result()), times


def begins(found, name):
    """When the recorded operators or kernels of a name began and ended."""
    these = np.array([name in each for each in found.names])[found.name]
    return list(zip(found.begins[these].tolist(), found.ends[these].tolist(), strict=True))


def test_operators_are_on_the_clock_of_everything_else():
    """Each multiplication is where it was timed, in the lane of its thread, and what an operator calls counts once."""
    found, times = recorded("cpu", 128)
    seen = begins(found, "aten::mm")
    within = [(begin, end) for begin, end in times if found.begin < begin and end < found.end]
    assert len(within) > 5
    for begin, end in within:
        assert any(begin - NEAR < first <= last < end + NEAR for first, last in seen)
    assert {"operators of training", "operators of other"} <= set(found.lanes)
    assert found.during > 0
    use = kernel_use(found)
    assert 0 < use.computes < 1
    assert use.computes + use.waits == pytest.approx(1)
    assert use.gaps >= len(within)
    assert sum(one.seconds for one in use.kernels) <= use.seconds * len(found.lanes)
    own = {one.name: one for one in use.kernels}
    assert own["aten::mm"].runs == len(seen)
    assert own["aten::mm"].seconds > own["aten::matmul"].seconds
    assert not _profiler_enabled()


@pytest.mark.gpu
def test_kernels_are_on_the_clock_of_everything_else():
    """Each kernel ran while the host waited for it, in the lane of its stream."""
    found, times = recorded("cuda", 2048)
    assert all(lane.startswith("GPU 0 stream ") for lane in found.lanes)
    within = [(begin, end) for begin, end in times if found.begin < begin and end < found.end]
    kernels = list(zip(found.begins.tolist(), found.ends.tolist(), strict=True))
    for begin, end in within:
        assert any(begin - NEAR < first <= last < end + NEAR for first, last in kernels)
    use = kernel_use(found)
    assert use.gaps > 0
    assert 0 < use.computes < 1


def test_a_recording_ends_with_the_training_and_disturbs_no_other_profiler():
    """Its end gives what there is; another profiler stays on; a viewer that no longer waits has it stopped."""
    recorder = KernelRecorder(lambda: "cpu", lambda: 0, lambda: None)
    with ThreadPoolExecutor(1) as pool:

        def asked():
            answer = pool.submit(recorder.record, 5.0, 3.0)
            while recorder._wanted is None and not answer.done():
                time.sleep(0.001)
            return answer

        with foreign_profile(use_kineto=True):
            answer = asked()
            recorder.pass_gate()
            with pytest.raises(CommandRefused, match="already in use"):
                answer.result()
            assert _profiler_enabled()
        answer = asked()
        recorder.pass_gate()
        with pytest.raises(CommandRefused, match="another viewer"):
            recorder.record(1.0, 3.0)
        torch.ones(3).add(1)
        wanted = recorder._wanted
        assert wanted is not None
        wanted.cancelled = True
        recorder.pass_gate()
        assert not torch.autograd.profiler._is_profiler_enabled
        with suppress(CommandRefused):
            answer.result()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(KernelRecording, "_mark", lambda _: next(iter([])))
            answer = asked()
            recorder.pass_gate()
            with pytest.raises(CommandRefused, match="has failed: StopIteration"):
                answer.result()
            assert not torch.autograd.profiler._is_profiler_enabled
        answer = asked()
        recorder.pass_gate()
        torch.ones(3).add(1)
        recorder.close()
        assert not torch.autograd.profiler._is_profiler_enabled
        found = kernel_events(answer.result())
    assert "aten::add" in found.names
    assert found.before == 3
    with pytest.raises(CommandRefused, match="ending"):
        recorder.record(1.0, 3.0)
    with pytest.raises(CommandRefused, match="nothing with PyTorch"):
        KernelRecorder(lambda: "", lambda: 0, lambda: None).record(1.0, 3.0)


def test_the_time_of_a_gpu_is_kernels_copies_and_gaps():
    """Kernels of two streams at once count once, copies beside a kernel not at all, and operators are left out."""
    rows = [
        ("kernel", 7, "gemm", 0, 20),
        ("kernel", 8, "gemm", 10, 30),
        ("gpu_memcpy", 9, "copy", 25, 40),
        ("cpu_op", 1, "aten::mm", 0, 100),
        ("kernel", 7, "add", 60, 70),
    ]
    events = [
        SimpleNamespace(
            activity_type=lambda kind=kind: kind,
            device_resource_id=lambda stream=stream: stream,
            device_index=lambda: 0,
            name=lambda name=name: name,
            start_ns=lambda begin=begin: begin,
            end_ns=lambda end=end: end,
        )
        for kind, stream, name, begin, end in rows
    ]
    found = [*named(events, {}, gpu=True)]
    assert [lane for lane, *_ in found] == [f"GPU 0 stream {number}" for number in (7, 8, 9, 7)]
    names = [("gemm", False), ("copy", True), ("add", False)]
    answer = {
        "pid": 1,
        "device": "cuda",
        "begin": 0,
        "end": 100,
        "lanes": ["7", "8", "9"],
        "names": names,
        "which": packed(np.array([int(lane[-1]) % 7 * 3 + names.index(name) for lane, name, *_ in found])),
        "times": packed(np.array([times for _, _, *times in found])),
        "lost": 0,
        "before": None,
        "during": 1.0,
        "held": 0.1,
    }
    use = kernel_use(kernel_events(answer))
    assert (use.computes, use.copies, use.waits) == pytest.approx((0.4, 0.1, 0.5))
    assert use.gaps == 2
    assert use.gap == pytest.approx(25e-9)
    assert [(one.name, one.runs, round(1e9 * one.seconds)) for one in use.kernels] == [
        ("gemm", 2, 40),
        ("copy", 1, 15),
        ("add", 1, 10),
    ]
    for wrong in ({"which": packed(np.array([9, 0, 0, 0]))}, {"end": 65}, {"times": "!"}, {"lanes": None}):
        with pytest.raises(Malformed):
            kernel_events(answer | wrong)
