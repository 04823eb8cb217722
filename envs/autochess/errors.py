"""The error of the auto-battler.

PacError
└── IllegalAction       an action that is out of range or that the mask forbids
"""

from __future__ import annotations

from ..errors import PacError


class IllegalAction(PacError, ValueError):
    """An action that is out of range or that the mask forbids; no game was stepped."""

    title = "Illegal action"
