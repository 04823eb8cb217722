"""The scheduler says what is due, and draws less often what costs too much."""

from pac.tui.app.refresh import BUDGET, SLOWEST, RefreshScheduler


class Machine:
    """A clock and a processor that the test moves."""

    def __init__(self):
        self.now = 0.0
        self.cpu = 0.0

    def spend(self, seconds, cpu):
        self.now += seconds
        self.cpu += cpu


def scheduler():
    machine = Machine()
    return machine, RefreshScheduler(clock=lambda: machine.now, cpu=lambda: machine.cpu)


def test_a_part_is_due_once_per_period():
    """Within the period it is not due."""
    machine, found = scheduler()
    assert found.due("figures", 0.25)
    machine.spend(0.1, 0)
    assert not found.due("figures", 0.25)
    machine.spend(0.2, 0)
    assert found.due("figures", 0.25)


def test_a_part_that_was_not_due_becomes_overdue():
    """From the end of its period until it is drawn."""
    machine, found = scheduler()
    assert found.due("figures", 0.25)
    machine.spend(0.3, 0)
    assert not found.overdue("figures")
    assert found.due("figures", 0.25)
    machine.spend(0.1, 0)
    assert not found.due("figures", 0.25)
    assert not found.overdue("figures")
    machine.spend(0.2, 0)
    assert found.overdue("figures")
    assert found.due("figures", 0.25)
    assert not found.overdue("figures")


def test_a_key_makes_everything_due():
    """After `expire_all` every part is due."""
    _, found = scheduler()
    assert found.due("figures", 10.0)
    found.expire_all()
    assert found.due("figures", 10.0)


def test_a_high_cost_slows_drawing_down():
    """Up to a limit; when the cost falls, the rates recover."""
    machine, found = scheduler()
    for _ in range(10):
        machine.spend(1.0, 0.5)
        found.measure()
    assert found.cost == 0.5
    assert found.slowdown == SLOWEST
    for _ in range(20):
        machine.spend(1.0, BUDGET / 10)
        found.measure()
    assert found.slowdown == 1.0
