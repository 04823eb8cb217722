"""Limits of all sessions, and of what options ask for."""

from __future__ import annotations

from typing import Any

MAX_ENVS = 1_000_000
"""The largest number of environments N."""
MAX_PROCESSES = 4096
"""The largest number of processes or threads that an option may ask for."""
MAX_TIMEOUT = 100_000
"""The longest time limit of a wait in s; the system's waits take 32 bits of milliseconds."""
MAX_HIDDEN, MAX_LAYERS, MAX_CHANNELS, MAX_SEQUENCE = 4096, 32, 1024, 1024
"""The largest networks: some GB of weights."""
MAX_BATCH, MAX_MINIBATCH = 2**24, 2**20
"""Decisions of the largest batch, and of the largest gradient step."""
COUNTED: dict[str, Any] = {"unlimited": "it is only compared with what was counted"}
"""Declares why an option that is a number needs no upper limit: nothing is allocated or started by it."""
