"""`pac-tui report RUN`: all that is known of a run as one HTML file that needs nothing else."""

from __future__ import annotations

import json
import shlex
import time
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from pydantic.fields import FieldInfo

from ...backends.system.segment import human_bytes
from ...envs import Names, PacError, Task, find
from ...envs.files import MIB, UnreadableFile, read_bytes, write_whole
from ...envs.trust import Vouch, check_trusted
from ...training.config import Config
from ...training.diagnosis.all_rules import RULES
from ...training.diagnosis.of_run import findings_of
from ...training.exits import DONE
from ...training.past.episode_file import SUFFIX, read
from ...training.runs import notes
from ...training.runs.folder import EPISODES, RunFolder
from ...training.runs.overview import RunOverview, overview_of
from ...training.settings import setting_text
from ...training.telemetry.changes import CHANGED, Change, changes_in
from ...training.telemetry.findings import gravest_first
from ...training.telemetry.metric_history import COUNTER_NAMES
from ...training.trainers import trainer_kind
from ...training.units import LENGTH, Figure
from ..drawing.curves_svg import SvgCurve, curves_svg
from ..drawing.numbers import readable
from ..replay.tracks import Track
from ..run_table import flat
from ..terminal.report_file import check_writable
from ..terminal.svg import svg_of
from ..trust import asking
from .report_page import Html, document, film, section, table, tag, words
from .run_words import label_of, shown_value

FILMS = {".mp4": "video/mp4", ".webm": "video/webm", ".gif": "image/gif"}
LIMIT = 24
"""MiB of films that a report contains, unless the user says otherwise."""
MOST_BOARDS, MOST_STEPS = 6, 20_000
"""Episodes without a film of which the last board is drawn, and their most steps, as they are played again."""
MOST_POINTS, MOST_CURVES, MOST_EVALUATIONS = 400, 80, 20
CURVE = (560, 270)
MAIN = ("eval/return", "eval/success", LENGTH.name, "loss/policy", "loss/value", "loss/entropy", "explained_variance")
"""Metrics that are shown first, after the figures of the trainer."""
NOT_REPEATED = frozenset({"settings", "name", "resume", "runs_dir", "checkpoint", "learn", "greedy"})
"""Options that the command does not contain: they name this run, or how its policy was watched."""
FLAGS = {"breakpoints": "break"}
GIVEN, EVALUATED = "given", "eval/"
HEADLINES = ("state", "steps", "frames", "episodes", "iterations", "num_envs", "device", "reason", "error")


def report_run(name: str, runs_dir: Path, html: Path | None, *, limit: int, trust: bool) -> int:
    """Write the report of a run; return the exit code.

    Args:
        name: Name or folder of the run.
        runs_dir: Folder that contains the runs.
        html: The file; `NAME.html` in the working directory by default.
        limit: MiB of films that it contains at most.
        trust: Whether to use the run's task, to draw boards, even if it runs code.

    Raises:
        NotWritable: The file cannot be written.
        RunFolderError: There is no such run, or it is damaged.
    """
    folder = RunFolder.find(runs_dir, name)
    target = html or Path(f"{folder.name}.html")
    check_writable("--html", target)
    write_whole(target, page_of(folder, limit=limit, vouch=asking(trust=trust)))
    print(f"wrote {target} ({human_bytes(target.stat().st_size)})")
    return DONE


def page_of(folder: RunFolder, *, limit: int, vouch: Vouch) -> str:
    """Return the report of a run as HTML."""
    run, metadata, rows = overview_of(folder), folder.metadata(), folder.read_metrics().rows
    task = _task_of(folder, metadata, vouch)
    changes = tuple(changes_in(metadata))
    parts = [
        section("Result", _result(run, rows)),
        section("Curves", *_curves(run, rows, changes)),
        section("Evaluation", _evaluation(run, rows)),
        section("Findings", _findings(folder)),
        section("Episodes", *_episodes(folder, limit * MIB, vouch)),
        section("Settings", *_settings(metadata, task, changes)),
        section("Machine and versions", *_machine(metadata)),
        section("To repeat it", *_command(metadata, task)),
    ]
    about = f"{metadata.get('trainer', 'unknown trainer')} on {metadata.get('task', 'an unknown task')}, {run.state}"
    written = f"written {_when(time.time())} by pac-tui {version('pac-tui')}"
    return document(folder.name, f"{about}; {written}", parts)


def _when(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(seconds))


def _task_of(folder: RunFolder, metadata: Mapping[str, Any], vouch: Vouch) -> Task | None:
    """Return the task of a run; None if it is not known or not trusted."""
    spec = metadata.get("task")
    if not isinstance(spec, str) or "arguments" in metadata.get("config", {}):  # a script's
        return None
    try:
        check_trusted("task", spec, Names.TASK, str(folder.entry("run.json")), vouch)
        return find(spec)
    except PacError:
        return None


def _result(run: RunOverview, rows: Sequence[Mapping[str, float]]) -> Html:
    """The most important figures."""
    metadata, last = run.metadata, rows[-1] if rows else {}
    facts: list[tuple[str, str]] = []
    for figure in _figures(run, last):
        values = [row[figure.name] for row in rows if figure.name in row]
        best = figure.best(value for value in values if np.isfinite(value))
        note = f" (best {readable(best)})" if best is not None else ""
        facts.append((figure.title, f"{readable(values[-1])}{note}" if values else "unknown"))
    if "seconds" in last:
        facts.append(("trained for", f"{last['seconds']:,.0f} s"))
    if "started" in metadata:
        facts.append(("started", _when(metadata["started"])))
    labels = {key: label_of(key, run.units) for key in HEADLINES if metadata.get(key) not in (None, "")}
    facts += [(label, shown_value(metadata[key])) for key, label in labels.items() if label]
    if "fps" in last:
        facts.append((run.units.fps, f"{last['fps']:,.0f}"))
    said = notes.read(RunFolder(run.folder).entry()) if run.folder is not None else notes.RunNotes()
    facts += [("tags", " ".join(said.tags))] * bool(said.tags) + [("note", said.note)] * bool(said.note)
    return table((), facts)


def _figures(run: RunOverview, last: Mapping[str, float]) -> tuple[Figure, ...]:
    """Return the figures of a run's trainer that it has, the most important one first."""
    try:
        kind = trainer_kind(str(run.metadata.get("trainer")))
    except PacError:
        return (run.goal,)
    return tuple(dict.fromkeys((run.goal, *(one for one in kind.figures if one.name in last))))


def _curves(run: RunOverview, rows: Sequence[Mapping[str, float]], changes: Sequence[Change]) -> Iterator[Html]:
    """Yield the main curves, and the others in a part that can be opened."""
    last = {name: value for row in rows for name, value in row.items()}
    figures = {figure.name: figure for figure in _figures(run, last)}
    names = [name for name in last if name not in COUNTER_NAMES]
    first = [name for name in (*figures, *MAIN, "fps") if name in names]
    rest = [name for name in names if name not in first]
    evaluated = _evaluated(rows)
    over, marks = run.units.over, [(float(getattr(one, run.units.over)), one.text) for one in changes]

    def drawn(name: str) -> Html | None:
        figure = figures.get(name)
        having = evaluated if name.startswith(EVALUATED) else rows
        points = np.array([(row[over], row[name]) for row in having if over in row and name in row], float)
        points = points.reshape(-1, 2)
        points = points[np.isfinite(points).all(axis=1)]
        if not len(points):
            return None
        points = points[np.unique(np.linspace(0, len(points) - 1, MOST_POINTS).astype(int))]
        title, log = (figure.title, figure.log) if figure is not None else (name, False)
        curve = SvgCurve(title, *points.T)
        svg = curves_svg(title, [curve], run.units.counted, log=log, size=CURVE, legend=False, marks=marks)
        return tag("figure", Html(svg))

    main = list(filter(None, map(drawn, dict.fromkeys(first))))
    if not main:
        yield words("There are no metrics yet.")
        return
    yield tag("div", *main, klass="curves")
    if changes:
        yield words("Dashed lines: a setting was changed.")
    if others := list(filter(None, map(drawn, rest[:MOST_CURVES]))):
        left = f" (of {len(rest):,})" if len(rest) > MOST_CURVES else ""
        yield tag("details", tag("summary", f"{len(others)} more curves{left}"), tag("div", *others, klass="curves"))


def _evaluated(rows: Sequence[Mapping[str, float]]) -> list[Mapping[str, float]]:
    """Return the first row of each evaluation, whose results stay in the metrics until the next one."""
    found, before = [], None
    for row in rows:
        values = repr([(name, value) for name, value in row.items() if name.startswith(EVALUATED)])
        if values not in {before, "[]"}:
            found.append(row)
            before = values
    return found


def _evaluation(run: RunOverview, rows: Sequence[Mapping[str, float]]) -> Html:
    """The last evaluations, a row each."""
    units, found = run.units, []
    for row in _evaluated(rows):
        values = {name.removeprefix(EVALUATED): value for name, value in row.items() if name.startswith(EVALUATED)}
        found.append({units.counted: row.get(units.over, 0.0), **values})
    if not found:
        return words("The policy was not evaluated: --eval-every does that, and `pac-tui eval` at any time.")
    shown = found[-MOST_EVALUATIONS:]
    names = list(dict.fromkeys(name for one in shown for name in one))
    left = [words(f"The last {len(shown)} of {len(found)}.")] if len(found) > len(shown) else []
    cells = [[readable(one[name]) if name in one else "" for name in names] for one in shown]
    return tag("div", *left, table(names, cells, numbers=True))


def _findings(folder: RunFolder) -> Html:
    """What the diagnosis has found, the gravest first."""
    found = gravest_first(findings_of(folder))
    if not found:
        return words("The diagnosis found nothing.")
    items = []
    for one in found:
        rule, state = RULES.get(one.rule), "lasts" if one.lasts else "ended"
        lines = [words(f"{one.rule}, since step {one.step:,}; {state}", klass="faint")]
        lines += [words(text) for text in (rule.why if rule is not None else "", one.advice) if text]
        head = tag("p", tag("span", one.severity.name.lower(), klass="badge"), " ", tag("b", one.text))
        items.append(tag("div", head, *lines, klass=f"finding {one.severity.name.lower()}"))
    return tag("div", *items)


def _episodes(folder: RunFolder, limit: int, vouch: Vouch) -> Iterator[Html]:
    """Yield films of recorded episodes, and the last board of those that have none."""
    entry = folder.entry(EPISODES)
    names = entry.names() if entry.is_folder else []
    films = [name for name in names if Path(name).suffix in FILMS]
    recorded = [name for name in names if name.endswith(SUFFIX)]
    shown, left, room = [], [], limit
    for name in sorted(films, key=lambda one: _written(entry / one), reverse=True):
        try:
            data = read_bytes(entry / name, room)
        except UnreadableFile:
            left.append(name)
            continue
        room -= len(data)
        shown.append(film(name, FILMS[Path(name).suffix], data))
    filmed = {Path(name).stem for name in films}
    without = [name for name in recorded if Path(name).stem not in filmed]
    without.sort(key=lambda one: _written(entry / one), reverse=True)
    boards = [_last_board(folder, name, vouch) for name in without[:MOST_BOARDS]]
    if not films and not recorded:
        yield words("No episode was recorded: `r` and `E` in the app do that, and --record with --video makes films.")
        return
    yield tag("div", *shown, *boards, klass="films")
    if left:
        size = f"{limit // MIB} MiB of films (--limit)"
        yield words(f"Not contained, as a report has at most {size}, or as they cannot be read: {', '.join(left)}")
    if len(without) > MOST_BOARDS:
        yield words(f"{len(without) - MOST_BOARDS} more recorded episodes without a film are not shown.")


def _written(entry: Any) -> float:
    """Return when a file was written; 0 if it cannot be read."""
    try:
        return float(entry.stat().st_mtime)
    except OSError:
        return 0.0


def _last_board(folder: RunFolder, name: str, vouch: Vouch) -> Html:
    """The last board of an episode, which is played again for it unless its boards were kept."""
    try:
        episode = read(folder.entry(EPISODES) / name, vouch)
        if episode.length > MOST_STEPS:
            return tag("figure", tag("figcaption", f"{name}: not drawn, as it has {episode.length:,} steps"))
        track = Track.of([("", episode)])
        for shot in track.shots():
            last = shot
        picture, caption = svg_of(track.look.lines(last)), f"{name}: the last board of {episode.length:,} steps"
    except PacError as error:
        return tag("figure", tag("figcaption", f"{name}: not drawn: {error}"))
    return tag("figure", Html(picture), tag("figcaption", caption))


def _settings(metadata: Mapping[str, Any], task: Task | None, changes: Sequence[Change]) -> Iterator[Html]:
    """Yield the settings of the trainer and the options of the run, with where their values come from."""
    config = metadata.get("config", {})
    settings, trainer = config.get("settings", {}), str(metadata.get("trainer"))
    sources = _sources(settings, trainer, task, changes)
    fields = _fields(trainer)
    cells = [
        (_name(name, sources[name]), _text(value), sources[name], _told(fields.get(name)))
        for name, value in settings.items()
    ]
    if cells:
        yield table((f"setting of {trainer}", "value", "source", ""), cells)
    if changes:
        yield tag("h3", "Changed during the training")
        yield table((), [(change.text,) for change in changes])
    options = []
    for name, value in flat({key: value for key, value in config.items() if key != "settings"}).items():
        field = Config.model_fields.get(name)
        if value is None or value in ([], ""):
            continue
        source = "" if field is None else "default" if _same(value, field.get_default()) else GIVEN
        options.append((_name(name, source), _text(value), source, _told(field)))
    if options:
        yield tag("details", tag("summary", "Options of the run"), table(("option", "value", "source", ""), options))
    if not cells and not options:
        yield words("run.json does not contain the configuration.")


def _text(value: Any) -> str:
    try:
        return shown_value(value) if isinstance(value, str) else setting_text(value)
    except (TypeError, ValueError):  # a list that is no schedule
        return shown_value(value)


def _same(value: Any, default: Any) -> bool:
    """Return whether a value of a file is a default, which may be a path or a tuple."""
    return bool(value == default) or json.dumps(value) == json.dumps(default, default=str)


def _sources(settings: Mapping[str, Any], trainer: str, task: Task | None, changes: Sequence[Change]) -> dict[str, str]:
    """Return where each setting comes from, as far as its value tells."""
    fields = _fields(trainer)
    advised = _advised(task, trainer) if task is not None else {}
    changed = {change.name for change in changes}
    found = {}
    for name, value in settings.items():
        default = fields[name].get_default() if name in fields else None
        if name in changed:
            found[name] = "changed during the training"
        elif name in advised and _same(value, advised[name]):
            found[name] = f"recommended for {task.settings_for.get(trainer, task.spec)}" if task is not None else ""
        elif name in fields and _same(value, default) and name not in advised:
            found[name] = "default"
        else:
            found[name] = GIVEN if task is not None else "given, or recommended for the task"
    return found


def _advised(task: Task, trainer: str) -> Mapping[str, Any]:
    """Return the settings that a task recommends, as a run keeps them: a schedule as a list."""
    advised = task.settings.get(trainer, {})
    try:
        made = trainer_kind(trainer).settings_class.model_validate(advised).model_dump(mode="json")
    except (PacError, ValueError):
        return advised
    return {name: made.get(name, value) for name, value in advised.items()}


def _fields(trainer: str) -> Mapping[str, FieldInfo]:
    """Return the settings of a trainer; none if it is not known here."""
    try:
        return trainer_kind(trainer).settings_class.model_fields
    except PacError:
        return {}


def _told(field: FieldInfo | None) -> str:
    return field.description or "" if field is not None else ""


def _name(name: str, source: str) -> Html:
    return tag("span", name, klass="" if source in {"", "default"} else "given")


def _machine(metadata: Mapping[str, Any]) -> Iterator[Html]:
    """Yield the machine that trained the run last."""
    machine = metadata.get("machine")
    facts: dict[str, Any] = {"device": metadata.get("device"), "pac-tui": metadata.get("version")}
    facts |= flat(machine) if isinstance(machine, Mapping) else {}
    yield table((), [(name, shown_value(value)) for name, value in facts.items() if value is not None])
    if not machine:
        yield words("The run does not say on which machine it was trained.")


def _command(metadata: Mapping[str, Any], task: Task | None) -> Iterator[Html]:
    """Yield the command that trains the same again."""
    config = metadata.get("config", {})
    if "arguments" in config:
        arguments = [str(word) for word in config["arguments"]] if isinstance(config["arguments"], list) else []
        yield words(f"In {config.get('cwd', 'its folder')}:")
        yield tag("pre", shlex.join(["pac-tui", "watch", *arguments]))
        return
    yield tag("pre", command_of(metadata, task))
    if metadata.get(CHANGED):
        yield words("With the settings as they were at the end: they were changed during the training.")
    if config.get("resume"):
        yield words("The run was resumed, so it had more than this one session.")


def command_of(metadata: Mapping[str, Any], task: Task | None) -> str:
    """Return the command line that trains a run with the same configuration again.

    Without a known task, it has all settings, as the recommended ones are unknown.
    """
    config, trainer = dict(metadata.get("config", {})), str(metadata.get("trainer"))
    given = {"task": metadata.get("task"), "trainer": trainer, "num_envs": metadata.get("num_envs")}
    if config.get("wrap"):
        given["task"] = config.get("task")
    given = {name: value for name, value in given.items() if value is not None}
    config = {**given, **config, **given}
    arguments = ["pac-tui", "run"]
    for name, value in config.items():
        field = Config.model_fields.get(name)
        if field is None or name in NOT_REPEATED or (_same(value, field.get_default()) and name not in given):
            continue
        flag = f"--{str(FLAGS.get(name, name)).replace('_', '-')}"
        if value is True and name != "baseline":
            arguments.append(flag)
        elif isinstance(value, list):
            arguments += [word for one in value for word in (flag, str(one))]
        else:
            arguments += [flag, setting_text(value)]
    settings = config.get("settings", {})
    sources = _sources(settings, trainer, task, ())
    for name, value in settings.items():
        if task is None or sources[name] == GIVEN:
            arguments += ["--set", f"{trainer}.{name}={_text(value)}"]
    return shlex.join(arguments)
