"""All rules, by their names."""

from __future__ import annotations

from collections.abc import Mapping

from . import environment_rules, learning_rules, session_rules, speed_rules
from .rules import DECLARED, Rule

MODULES = (session_rules, environment_rules, learning_rules, speed_rules)
"""The modules that declare rules."""
RULES: Mapping[str, Rule] = DECLARED
