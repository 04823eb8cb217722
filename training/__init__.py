"""Sessions, telemetry, algorithms and runs. `watch` attaches to the training of a script."""

from .watching import watch

__all__ = ["watch"]
