"""What happened, as it is kept."""

from pac.training.telemetry.events import EventLog
from pac.training.telemetry.records import Level


def test_no_control_character_of_an_event_reaches_a_terminal():
    """What an environment said of its failure may be coloured."""
    log = EventLog()
    log.add(Level.WARNING, "\x1b[1mout of lives\x1b[0m")
    assert log.recent[0][-1] == "\\x1b[1mout of lives\\x1b[0m"
