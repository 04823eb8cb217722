"""The page of the diagnosis has every rule as the code declares it. `UPDATE_SNAPSHOTS=1` writes its list of rules."""

import os
import re
from pathlib import Path
from string import Formatter

from pac.training.diagnosis.all_rules import RULES
from pac.training.diagnosis.rules import GROUPS

PAGE = Path(__file__).parents[3] / "docs" / "diagnosis.md"
HEADING = "\n## Rules\n"


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
    )


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


def test_sentences_of_rules_name_what_is_measured():
    """Numbers have a format, and every rule names what it found."""
    for rule in RULES.values():
        assert re.search(r"\{\w+", rule.sentence) or rule.sentence, rule.id
