"""The page of the diagnosis has every rule as the code declares it, and what a training that has it showed.

`UPDATE_SNAPSHOTS=1` writes the list of rules; `python -m tests.training.diagnosis.record` records trainings anew.
"""

import json
import os
import re
from pathlib import Path
from string import Formatter

import numpy as np
import pytest

from pac.training.diagnosis.all_rules import RULES
from pac.training.diagnosis.rules import GROUPS
from pac.tui.drawing.chart import Line, Plot, chart

from .illnesses import ILLNESSES
from .record import FILE

PAGE = Path(__file__).parents[3] / "docs" / "diagnosis.md"
RECORDED = json.loads(FILE.read_text())
WIDTH, HEIGHT = 72, 9


def measured(rule):
    """When a rule finds something, in words."""
    unit = f" {rule.unit}" if rule.unit else ""
    limit = f"{'below' if rule.below else 'above'} {rule.threshold:g}{unit}; " if rule.threshold else ""
    return f"{limit}{rule.source}"


def sentence(rule):
    """The sentence of a rule, with names in place of numbers."""
    parts = Formatter().parse(rule.sentence)
    return "".join(text + (f"*{name.upper()}*" if name else "") for text, name, *_ in parts)


def section(rule):
    """What the page says about a rule."""
    more = ", a grade more if the training does not learn" if rule.escalates else ""
    return (
        f"### `{rule.id}`\n\n"
        f"{rule.definition} *{rule.severity.name.capitalize()}{more}.*\n\n"
        f"> {sentence(rule)}\n\n"
        f"- **Threshold:** {measured(rule)}\n"
        f"- **Needs:** {rule.needs}\n"
        f"- **Why it matters:** {rule.why}\n"
        f"- **Try:** {rule.advice}\n"
        f"{figure(rule.id)}"
    )


def figure(name):
    """What the view `d` says and draws of a training with an illness; nothing where none has this rule."""
    if name not in RECORDED:
        return ""
    shown = RECORDED[name]
    rows = [f"{shown['severity']}  {shown['text']}"]
    if len(shown.get("values", ())) > 1:
        line = Line(np.array(shown["steps"]), np.array(shown["values"]))
        drawn = chart([line], WIDTH, HEIGHT, Plot("steps")).rows
        rows += ["", shown["curve"], *("".join(part.text for part in row).rstrip() for row in drawn)]
    text = "\n".join(rows)
    return f"\nA training with the illness *{shown['illness']}*:\n\n```text\n{text}\n```\n"


def test_the_page_has_every_rule():
    """In the order of the code, by what has the problem."""
    groups = {group: [rule for rule in RULES.values() if rule.group == group] for group in GROUPS}
    written = "".join(
        f"\n## The {group}: {len(rules)} rules\n\n" + "\n".join(map(section, rules)) for group, rules in groups.items()
    )
    before, heading, found = PAGE.read_text().partition("\n<!-- rules -->\n")
    if os.environ.get("UPDATE_SNAPSHOTS"):
        PAGE.write_text(before + heading + written)
    else:
        assert found == written


def test_every_illness_was_recorded():
    """One of its rules, at least: a figure of the page shows it."""
    recorded = {shown["illness"] for shown in RECORDED.values()}
    unseen = [name for name, illness in ILLNESSES.items() if not set(illness.rules) & set(RECORDED)]
    assert not unseen, recorded


@pytest.mark.parametrize("name", RECORDED)
def test_a_rule_finds_what_a_sick_training_recorded(name):
    """What was measured is beyond the threshold, and its sentence is still that of the rule."""
    rule, shown = RULES[name], RECORDED[name]
    assert shown["value"] is None or rule.beyond(shown["value"], 1.0)
    parts = Formatter().parse(rule.sentence)
    assert re.fullmatch("".join(re.escape(text) + (".*" if field else "") for text, field, *_ in parts), shown["text"])


def test_sentences_of_rules_name_what_is_measured():
    """Numbers have a format, and every rule names what it found."""
    for rule in RULES.values():
        assert re.search(r"\{\w+", rule.sentence) or rule.sentence, rule.id
