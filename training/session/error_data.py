"""The error of a session, for the process that started it."""

from __future__ import annotations

import traceback
from typing import Any

from ...envs import BadParameter, PacError
from ..exits import BAD_USAGE, FAILED


def error_as_data(error: BaseException) -> dict[str, Any]:
    """Return title, text and exit code of an error, as JSON data."""
    if isinstance(error, PacError):
        code = BAD_USAGE if isinstance(error, BadParameter) else FAILED
        return {"title": error.title, "error": str(error), "code": code}
    text = "".join(traceback.format_exception_only(error)).strip()
    return {"title": "Session failed", "error": text, "code": FAILED}
