"""Imports code of users and of installed packages, which may fail in any way."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from .errors import BadParameter


@contextmanager
def importing(name: str) -> Iterator[None]:
    """Report whatever the import of somebody else's code raises, `SystemExit` included, in one sentence.

    Args:
        name: What is imported, as the subject of the sentence.

    Raises:
        BadParameter: The import failed; its cause is what was raised.
    """
    try:
        yield
    except KeyboardInterrupt:
        raise
    except ModuleNotFoundError as error:
        raise BadParameter(f"{name} needs the module {error.name!r}, which is not installed") from error
    except BaseException as error:
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise BadParameter(f"{name} could not be imported: {reason}") from error
