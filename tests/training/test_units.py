"""The words and figures of trainers."""

from dataclasses import asdict

from pac.envs import find
from pac.envs.schema import checked
from pac.training.telemetry.description import Description, describe
from pac.training.units import RETURN, STEPPED, Figure, Units, first_of, plural

from ..toys import FACTS

SOLVER = Units("worker", "worker", "batch", "iteration", "it/s", "batches/s", "frames", episodes=False)
NASH = Figure("nash_conv", "NashConv", "chips per hand", log=True, better="lower")


def test_sentences_are_translated():
    """Environments become workers, and fps become iterations per second."""
    assert (
        SOLVER.translate("Measure the baseline: fps of one environment") == "Measure the baseline: it/s of one worker"
    )
    assert SOLVER.translate("Environments") == "Workers"
    assert STEPPED.translate("fps of one environment") == "fps of one environment"
    assert (STEPPED.counted, SOLVER.counted, plural(SOLVER.step)) == ("steps", "iterations", "batches")


def test_the_first_known_figure_is_chosen():
    """The first figure is the default before there are values."""
    figures = (NASH, RETURN)
    assert first_of(figures, ["fps", "return_mean"]) is RETURN
    assert first_of(figures, ["return_mean", "nash_conv"]) is NASH
    assert first_of(figures, []) is NASH


def test_telemetry_contains_them():
    """The header of the telemetry contains them unchanged."""
    about = describe(find("drmario"), units=SOLVER, figures=(NASH, RETURN), **FACTS)
    again = checked(asdict(about), Description)
    assert (again.units, again.figures) == (SOLVER, (NASH, RETURN))
