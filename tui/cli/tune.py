"""The command `pac-tui tune`."""

from __future__ import annotations

import shlex

from ...training.bench.tuning import tune
from ...training.config import Config
from ...training.loading import trainer_of
from ..drawing.numbers import whole
from ..terminal.progress import progress_bar
from .show import console, plain_table, show_json, show_table


def tune_training(config: Config, seconds: float, *, json: bool) -> int:
    """Search the fastest settings, and print them with everything that was measured."""
    with progress_bar("tune") as progress:
        result = tune(config, seconds=seconds, progress=progress)
    if json:
        return show_json(result)
    usual = result["default"]["sps"]["median"]
    table = plain_table("steps/s", "lowest", "highest", "of the default", "options")
    for trial in result["trials"]:
        if "error" in trial:
            table.add_row("", "", "", "", f"{trial['options']}: {trial['error']}")
            continue
        sps = trial["sps"]
        numbers = [whole(sps[name]) for name in ("median", "min", "max")]
        table.add_row(*numbers, f"{sps['median'] / usual:.2f} x" if usual else "", trial["options"])
    show_table(table)
    if result["best"]["options"] == result["default"]["options"]:
        console.print("\nThe settings that you have are the fastest that were found.", markup=False)
    else:
        changed = any(name.endswith(".minibatch") for name in result["best"]["settings"])
        note = "; larger minibatches change what is learned" if changed else ""
        console.print(f"\n{result['speedup']:.2f} times as fast{note}:", markup=False)
    print(f"pac-tui run {given_options(config)}{result['best']['options']}")
    return 0


def given_options(config: Config) -> str:
    """Return what a configuration trains, as options of the command line that end with a space."""
    words = ["--task", config.task]
    words += [word for wrapper in config.wrap for word in ("--wrap", wrapper)]
    words += ["--trainer", config.trainer] if config.trainer else []
    words += ["--device", config.device] if config.device != "auto" else []
    trainer = trainer_of(config) if config.settings else ""
    words += [word for name, value in config.settings.items() for word in ("--set", f"{trainer}.{name}={value}")]
    return f"{shlex.join(words)} "
