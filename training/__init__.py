"""Sessions, telemetry, algorithms, runs. `watch` shows a training that is somebody else's."""

from .watching import watch

__all__ = ["watch"]
