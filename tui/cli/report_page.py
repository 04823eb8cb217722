"""Pieces of a page of HTML that contains everything it shows. Text is escaped unless it is `Html`."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Sequence
from html import escape

from ...envs.printable import LINES, printable

POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; media-src data:"
"""What a browser may load for the page: nothing from elsewhere, and no scripts."""
STYLE = """
:root { color-scheme: light; }
body { font: 15px/1.5 system-ui, "DejaVu Sans", sans-serif; color: #222; background: #fff; margin: 0 auto;
  padding: 24px; max-width: 1180px; }
h1 { font-size: 26px; margin: 0; overflow-wrap: anywhere; }
h2 { font-size: 19px; margin: 36px 0 10px; padding-bottom: 4px; border-bottom: 2px solid #3b6ea8; }
h3 { font-size: 16px; margin: 20px 0 6px; }
p { margin: 6px 0; overflow-wrap: anywhere; }
.faint, figcaption { color: #666; }
table { border-collapse: collapse; max-width: 100%; }
th { text-align: left; font-weight: 600; color: #666; }
th, td { padding: 3px 20px 3px 0; vertical-align: top; border-bottom: 1px solid #eee; overflow-wrap: break-word; }
td:last-child { overflow-wrap: anywhere; }
.numbers { display: block; overflow-x: auto; }
.numbers th, .numbers td { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
.curves, .films { display: flex; flex-wrap: wrap; gap: 12px; align-items: flex-start; }
figure { margin: 0; box-sizing: border-box; }
.curves figure { flex: 1 1 440px; max-width: 560px; }
.films figure { flex: 1 1 300px; max-width: 365px; }
figcaption { overflow-wrap: anywhere; }
svg, video, img { max-width: 100%; height: auto; }
video, img { width: 100%; }
pre { background: #f4f6f8; padding: 12px; white-space: pre-wrap; overflow-wrap: anywhere; }
details { margin: 12px 0; }
summary { cursor: pointer; color: #3b6ea8; margin-bottom: 8px; }
.given { font-weight: 600; }
.finding { border-left: 4px solid #999; padding: 2px 12px; margin: 12px 0; }
.finding.warning { border-color: #d98032; }
.finding.fault { border-color: #b02a2a; }
.badge { background: #eee; border-radius: 4px; padding: 1px 6px; font-size: 13px; }
"""


class Html(str):
    """Text that is HTML already."""

    __slots__ = ()


def safe(text: str) -> Html:
    """Return text as HTML: what has a meaning there is escaped, and what cannot be printed is written out."""
    return text if isinstance(text, Html) else Html(escape(printable(text, LINES)))


def tag(name: str, *children: str, klass: str = "") -> Html:
    """Return an element with its children."""
    return Html(f"<{name}{f' class={_quoted(klass)}' if klass else ''}>{''.join(map(safe, children))}</{name}>\n")


def _quoted(value: str) -> str:
    return f'"{escape(value)}"'


def words(text: str, *, klass: str = "") -> Html:
    """Return a paragraph."""
    return tag("p", text, klass=klass)


def section(title: str, *parts: Html) -> Html:
    """Return a section with a heading."""
    return tag("section", tag("h2", title), *parts)


def table(titles: Sequence[str], rows: Iterable[Sequence[str]], *, numbers: bool = False) -> Html:
    """Return a table, with headings if there are titles."""
    head = [tag("tr", *(tag("th", title) for title in titles))] if titles else []
    body = [tag("tr", *(tag("td", cell) for cell in row)) for row in rows]
    return tag("table", *head, *body, klass="numbers" if numbers else "")


def film(name: str, kind: str, data: bytes) -> Html:
    """Return a film or an animated picture, which the page contains."""
    source = f"data:{kind};base64,{b64encode(data).decode()}"
    if kind.startswith("image/"):
        shown = Html(f'<img src="{source}" alt={_quoted(printable(name))}>')
    else:
        shown = Html(f'<video src="{source}" controls loop muted playsinline preload="metadata"></video>')
    return tag("figure", shown, tag("figcaption", name))


def document(title: str, about: str, parts: Iterable[Html]) -> str:
    """Return the page."""
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{safe(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
        f"<header>{tag('h1', title)}{words(about, klass='faint')}</header>\n<main>\n{''.join(parts)}</main>\n"
        "</body>\n</html>\n"
    )
