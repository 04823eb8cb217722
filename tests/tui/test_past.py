"""The snapshot that views get of another seat or of an earlier step."""

from __future__ import annotations

from contextlib import closing

import pytest

from pac.training.telemetry.blocks import TelemetryReader
from pac.training.telemetry.moments import MomentSource
from pac.training.telemetry.snapshot import ViewRequest, take_snapshot
from pac.tui.app.past import snapshot_at

from .fake_session import FakeSession


@pytest.mark.parametrize(("block", "back"), [("detail", 0), ("moment", 1)])
def test_every_seat_has_its_own_last_episode(runtime_directory, block, back):
    """Return and terms of the last episode are those of the seat whose moment is shown."""
    fake = FakeSession(runtime_directory, "autochess:players=8")
    fake.write(block, env=2, seat=1, step=100 - back, now=100, source=MomentSource.NOW, full=1)
    with fake.writer.write("last_returns") as returns, fake.writer.write("last_terms") as terms:
        returns[2], terms[2] = range(8), [[seat + 10] for seat in range(8)]
    snapshot = take_snapshot(TelemetryReader(fake.directory), ViewRequest(focus=2, seat=1, detail=True, back=back))
    assert snapshot.moment is not None
    shown = snapshot_at(snapshot, snapshot.moment)
    fake.close()
    assert shown.environments["last_return"][2] == 1
    assert (shown.last_terms[2, 0] == 11).all()


@pytest.mark.parametrize(("decided", "entropy"), [(0, 1.5), (1, 2.5)])
def test_a_past_step_has_the_entropy_that_was_kept(runtime_directory, decided, entropy):
    """Of the decision whose value is shown: the next one if it is known, else the one before."""
    with closing(FakeSession(runtime_directory)) as fake:
        fake.write("moment", env=2, step=98, now=100, source=MomentSource.REBUILT, full=1, decided=decided, value=1)
        fake.write("line", env=2, now=100, ends=[0] * 4, entropies=[0, 1.5, 2.5, 9])
        snapshot = take_snapshot(TelemetryReader(fake.directory), ViewRequest(focus=2, detail=True, back=2))
        assert snapshot.moment is not None
        policy = snapshot_at(snapshot, snapshot.moment).policy
    assert policy is not None
    assert policy.entropy == entropy
