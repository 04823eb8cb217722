"""What is wrong with the training: findings, the gravest first, each with its evidence and what to try."""

from __future__ import annotations

from ...training.diagnosis.all_rules import RULES
from ...training.diagnosis.rules import SPEED
from ...training.telemetry.findings import Finding, gravest_first
from ...training.telemetry.records import Severity
from ...training.telemetry.snapshot import Snapshot, ViewRequest
from ..drawing.numbers import age, readable, whole
from ..drawing.panels import Section, column
from ..drawing.styles import ACCENT, BRIGHT, FAINT, GREEN, RED, SOFT, TEXT, YELLOW, Row, blank, fit, spread, styled
from .base import LinesView, ViewUpdate
from .curves import Curves
from .number_rows import wrapped

COLORS = {Severity.NOTE: SOFT, Severity.WARNING: YELLOW, Severity.FAULT: RED}
LIST_SHARE, LEAST_LIST, LEAST_CURVE = 0.4, 3, 6
WORD = 10


class DiagnosisView(LinesView):
    """The findings of the training; one of them with its evidence."""

    ID = "diagnosis"

    def __init__(self) -> None:
        super().__init__()
        self.curves: tuple[str, ...] = ()
        self._selected, self._shown, self._curves = 0, list[Finding](), Curves()

    def request(self, env: int) -> ViewRequest:  # noqa: ARG002 - findings are of the whole training
        """Request the curve of the selected finding."""
        return ViewRequest(count=0, curves=self.curves)

    def show(self, update: ViewUpdate) -> None:
        """Draw the findings, and what is known of the selected one."""
        if not update.numbers:
            return
        self._shown = gravest_first(update.snapshot.findings)
        self._selected = max(0, min(self._selected, len(self._shown) - 1))
        (width, height), now = self._lines.size, update.now
        room = max(LEAST_LIST, int(height * LIST_SHARE) - 2)
        listed = Section("Diagnosis", lambda wide, _: self._list(wide, room, now), note=counted(update.snapshot))
        sections = [listed]
        if self._shown:
            found = self._shown[self._selected]
            self.curves = (found.curve,) if found.curve in update.snapshot.metrics else ()
            sections.append(Section(found.rule, lambda wide, _: evidence_rows(found, wide, now)))
            if self.curves:
                sections.append(self._curves.section(update, found.curve, LEAST_CURVE))
        self._lines.show(column(sections, width, height))

    def restyle(self, *, colors: bool) -> None:  # noqa: ARG002 - colors alone distinguish nothing here
        """Forget the drawn curve."""
        self._curves = Curves()

    def _list(self, width: int, room: int, now: float) -> list[Row]:
        if not self._shown:
            return [(styled(fit(text, width), GREEN if not index else FAINT),) for index, text in enumerate(NOTHING)]
        first = max(0, min(self._selected - room // 2, len(self._shown) - room))
        return [
            finding_row(found, width, now, selected=index == self._selected)
            for index, found in list(enumerate(self._shown))[first : first + room]
        ]

    def select(self, by: int) -> None:
        """Select another finding."""
        self._selected = max(0, min(self._selected + by, len(self._shown) - 1))

    @property
    def target(self) -> tuple[str, int, str] | None:
        """What shows the selected finding: a view, in it an environment from 0 or -1, or a curve; None without one."""
        if not self._shown:
            return None
        found = self._shown[self._selected]
        if found.env >= 0:
            return "environment", found.env, ""
        if found.curve:
            return "learning", -1, found.curve
        rule = RULES.get(found.rule)
        return ("timing", -1, "") if rule is not None and rule.group == SPEED else None


NOTHING = ("nothing was found", "rules are checked while the training runs; docs/diagnosis.md lists them")


def finding_row(found: Finding, width: int, now: float, *, selected: bool = False) -> Row:
    """Return a finding in a line: how grave it is, its sentence, and how long it lasts or since when it is over."""
    word = found.severity.name.lower() if found.lasts else "over"
    since = age(now - (found.began if found.lasts else found.ended))
    when = f"  for {since}" if found.lasts else f"  {since} ago"
    mark = styled("▌ " if selected else "  ", ACCENT)
    color = COLORS[found.severity] if found.lasts else FAINT
    text = fit(found.text, max(0, width - 2 - WORD - len(when))).rstrip()
    left = (mark, styled(f"{word:<{WORD}}", color, bold=found.lasts), styled(text, BRIGHT if selected else TEXT))
    return spread(left, (styled(when, FAINT),), width)


def evidence_rows(found: Finding, width: int, now: float) -> list[Row]:
    """Return the sentence of a finding, what was measured, why it matters, and what to try."""
    rule = RULES.get(found.rule)
    rows: list[Row] = [(styled(line, BRIGHT),) for line in wrapped(found.text, width)]
    limit = "at least" if rule is not None and rule.below else "at most"
    unit = f" {rule.unit}" if rule is not None and rule.unit else ""
    if found.threshold:
        measured = f"measured {readable(found.value)}; usual is {limit} {readable(found.threshold)}{unit}; "
    else:
        measured = ""
    since = f"{measured}since step {whole(found.step)}, {age(now - found.began)} ago"
    if not found.lasts:
        since += f", over for {age(now - found.ended)}"
    rows += [(styled(line, SOFT),) for line in wrapped(since, width)]
    for word, text in (("why", rule.why if rule is not None else ""), ("try", found.advice)):
        for index, line in enumerate(wrapped(text, max(1, width - 5)) if text else ()):
            rows.append((styled(f"{word if not index else '':<5}", ACCENT), styled(line, TEXT)))
    return rows


def counted(snapshot: Snapshot) -> Row:
    """Return how many findings last, by severity, the gravest first; or how many there were."""
    lasting = [found for found in snapshot.findings if found.lasts]
    counts = {severity: sum(found.severity == severity for found in lasting) for severity in reversed(Severity)}
    row: Row = ()
    for severity, count in counts.items():
        if count:
            word = severity.name.lower() + ("s" if count > 1 else "")
            row = (*row, *((blank(1),) if row else ()), styled(f"{count} {word}", COLORS[severity], bold=True))
    if not row and snapshot.findings:
        return (styled(f"{len(snapshot.findings)} earlier", FAINT),)
    return row


def gravest(snapshot: Snapshot) -> Finding | None:
    """Return the gravest finding that lasts; None if there is none."""
    return next((found for found in gravest_first(snapshot.findings) if found.lasts), None)


def summary_section(snapshot: Snapshot, lines: int, *, notes: bool) -> Section | None:
    """Return the panel of the gravest finding, with at most so many lines; None if there is none.

    Args:
        snapshot: The session.
        lines: The most lines of its sentence.
        notes: Whether there is room for a finding that is only a note.
    """
    found = gravest(snapshot)
    if found is None or (found.severity is Severity.NOTE and not notes):
        return None
    color = COLORS[found.severity]

    def rows(width: int, _: int) -> list[Row]:
        shown = wrapped(found.text, width)
        shown = shown if len(shown) <= lines else [*shown[: lines - 1], fit(" ".join(shown[lines - 1 :]), width)]
        return [(styled(line, color),) for line in shown]

    return Section("Diagnosis", rows, note=counted(snapshot))
