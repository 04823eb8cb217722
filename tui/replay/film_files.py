"""Writes films, whole or not at all: MP4 and WebM with PyAV, GIF with Pillow, asciicasts with nothing."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.color import ColorSystem
from rich.style import Style
from textual.strip import Strip

from ...envs.files import sync
from ..terminal.raster import CannotExport, pillow

Picture = NDArray[np.uint8]
Pictures = Iterable[Picture]
Screens = Iterable[Sequence[Strip]]

LAST = 2.0  # s for which the last picture is shown
CODECS: dict[str, tuple[str, str, dict[str, str], dict[str, str]]] = {
    ".mp4": ("mp4", "libx264", {"crf": "16", "preset": "fast"}, {"movflags": "+faststart"}),
    ".webm": ("webm", "libvpx-vp9", {"crf": "24", "b": "0", "deadline": "good", "cpu-used": "5"}, {}),
}
"""Of each ending: the format, the codec, and the options of both."""
PALETTE = 256
DENOMINATOR = 1000


def endings() -> tuple[str, ...]:
    """Return how the names of films end."""
    return (*CODECS, ".gif", ".cast")


def check_film(target: Path) -> None:
    """Check, before anything is drawn, that a film can be written there.

    Raises:
        CannotExport: The name ends in something else, a library is missing, or the place cannot be used.
    """
    if target.suffix not in endings():
        raise CannotExport(f"a film's name ends in {', '.join(endings())}, got {target.name!r}")
    if target.exists() and not target.is_file():
        raise CannotExport(f"{target} is not a file; choose another name for the film")
    if not target.parent.is_dir():
        raise CannotExport(f"there is no folder {target.parent} for the film; make it first")
    if target.suffix != ".cast":
        pillow()
    if target.suffix in CODECS:
        _av()


def _av() -> Any:
    try:
        import av
    except ImportError as error:
        raise CannotExport(
            "PyAV is missing, which writes MP4 and WebM: pip install 'pac-tui[video]', or write a .gif or .cast"
        ) from error
    return av


@contextmanager
def _whole(target: Path) -> Iterator[Path]:
    """Yield a file beside the target, which replaces it at the end; what fails leaves an older film as it is."""
    beside = target.with_name(f".{target.name}.part")
    try:
        yield beside
        sync(beside)
        beside.replace(target)
    except OSError as error:  # also those of PyAV
        raise CannotExport(f"the film {target} could not be written: {error.strerror or error}") from error
    finally:
        with suppress(OSError):
            beside.unlink(missing_ok=True)


def write_video(pictures: Pictures, target: Path, rate: float) -> None:
    """Write pictures `(H, W, 3)` of one size as MP4 or WebM."""
    av = _av()
    name, codec, tuning, packing = CODECS[target.suffix]
    with _whole(target) as beside, av.open(str(beside), "w", format=name, options=packing) as film:
        stream = film.add_stream(codec, rate=Fraction(rate).limit_denominator(DENOMINATOR), options=tuning)
        stream.pix_fmt = "yuv420p"
        last = None
        for picture in pictures:
            last = _even(picture)
            if not stream.width or stream.width != last.shape[1]:
                stream.height, stream.width = last.shape[:2]
            film.mux(stream.encode(av.VideoFrame.from_ndarray(last, format="rgb24")))
        assert last is not None
        for _ in range(round(LAST * rate) - 1):
            film.mux(stream.encode(av.VideoFrame.from_ndarray(last, format="rgb24")))
        film.mux(stream.encode())


def _even(picture: Picture) -> Picture:
    """Return a picture with an even number of pixels each way, as the codecs need: the last ones twice."""
    height, width = picture.shape[:2]
    return np.ascontiguousarray(np.pad(picture, ((0, height % 2), (0, width % 2), (0, 0)), mode="edge"))


def write_gif(pictures: Pictures, target: Path, rate: float) -> None:
    """Write an animated GIF, exactly where a picture has at most 256 colors."""
    first, *rest = map(_indexed, pictures)
    times = [round(1000 / rate)] * len(rest) + [round(1000 * LAST)]
    with _whole(target) as beside:
        first.save(beside, "GIF", save_all=True, append_images=rest, duration=times, loop=0, optimize=False)


def _indexed(picture: Picture) -> Any:
    """Return a picture of Pillow with a palette."""
    images = pillow().Image
    packed = picture.astype(np.uint32) @ np.array([1 << 16, 1 << 8, 1], np.uint32)
    found, at = np.unique(packed, return_inverse=True)
    if len(found) > PALETTE:
        return images.fromarray(picture).quantize(PALETTE, dither=images.Dither.NONE)
    image = images.fromarray(at.reshape(picture.shape[:2]).astype(np.uint8), "P")
    image.putpalette(b"".join(int(color).to_bytes(3, "big") for color in found))
    return image


def write_cast(screens: Screens, target: Path, rate: float, title: str) -> None:
    """Write an asciicast, version 2. After the first screen it contains only lines that have changed."""
    with _whole(target) as beside, beside.open("w", encoding="utf-8") as file:
        before: list[str] = []
        index = 0
        for index, screen in enumerate(screens):
            now = [_ansi(line) for line in screen]
            begin = ""
            if not index:
                width = max((line.cell_length for line in screen), default=0)
                file.write(json.dumps({"version": 2, "width": width, "height": len(screen), "title": title}) + "\n")
                before, begin = [""] * len(now), "\x1b[2J\x1b[?25l"
            pairs = enumerate(zip(before, now, strict=True))
            data = begin + "".join(f"\x1b[{y + 1};1H{new}" for y, (old, new) in pairs if old != new)
            file.write(json.dumps([round(index / rate, 3), "o", data]) + "\n")
            before = now
        file.write(json.dumps([round(index / rate + LAST, 3), "o", "\x1b[0m\x1b[?25h"]) + "\n")


def _ansi(line: Strip) -> str:
    """A line of the screen with escape sequences."""
    return "".join((style or Style()).render(text, color_system=ColorSystem.TRUECOLOR) for text, style, _ in line)


def write_pictures(pictures: Pictures, target: Path, rate: float) -> None:
    """Write pictures `(H, W, 3)` of one size as a film of the kind that the name ends in."""
    (write_video if target.suffix in CODECS else write_gif)(pictures, target, rate)
