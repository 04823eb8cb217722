"""What is to be done in a game: read from a YAML file beside the ROM, or from one of this package."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from ..errors import BadParameter
from ..files import KIB, read_yaml
from ..task import Tone

OWN_GAMES = ("catch", "walk")
FOLDER = Path(__file__).parent
LIMIT = 64 * KIB
BUTTONS = ("right", "left", "up", "down", "a", "b", "select", "start")
FORMATS = ("binary", "bcd", "digits")
MOST_VALUES, MOST_ENDS, MOST_GOALS, MOST_FRAMES = 4, 6, 16, 100_000
TONES = ("good", "bad", "neutral")


@dataclass(frozen=True)
class Hold:
    """Buttons that are held for some frames; of goals, for some steps."""

    buttons: int
    count: int


@dataclass(frozen=True)
class Value:
    """A number in memory: its bytes from an address on, and the reward for each by which it grows.

    The format `binary` has its lowest byte first. `bcd` has two digits per byte, and `digits` one, the highest first.
    """

    name: str
    address: int
    size: int = 1
    format: str = "binary"
    reward: float = 0.0


@dataclass(frozen=True)
class End:
    """An outcome: the episode ends when a byte of memory lies within limits, and a value is at least `floor`."""

    outcome: str
    tone: Tone
    address: int
    low: int
    high: int
    value: int = -1
    floor: int = 0


@dataclass(frozen=True)
class Game:
    """What is to be done in a game.

    Attributes:
        title: Its name on screen.
        start: What is pressed from power on, or from a snapshot, to the start state.
        snapshot: The file of a snapshot from which `start` begins, or None.
        actions: The button sets of the actions.
        frames: Frames of a step.
        press: Frames for which a step's buttons are held.
        steps: Steps after which an episode is truncated.
        values: Numbers in memory.
        ends: Outcomes.
        goals: For every stage, the file of its goal picture, or what is pressed to reach it, from the start or from the
            stage before.
    """

    title: str
    start: tuple[Hold, ...]
    snapshot: Path | None
    actions: tuple[int, ...]
    names: tuple[str, ...]
    frames: int
    press: int
    steps: int
    values: tuple[Value, ...]
    ends: tuple[End, ...]
    goals: tuple[tuple[Hold, ...] | Path, ...]

    @property
    def files(self) -> tuple[Path, ...]:
        pictures = tuple(goal for goal in self.goals if isinstance(goal, Path))
        return (self.snapshot, *pictures) if self.snapshot else pictures


class GameReader:
    """Reads a game from the content of its file; errors name the file and the key."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def wrong(self, key: str, expected: str, got: Any) -> BadParameter:
        return BadParameter(f"{self.path}: {key} expects {expected}, got {got!r}")

    def mapping(self, key: str, found: Any, known: set[str]) -> dict[str, Any]:
        """Return a mapping that has only known keys."""
        if not isinstance(found, dict):
            raise self.wrong(key, "keys and values", found)
        for name in found:
            if name not in known:
                raise self.wrong(key, f"the keys {', '.join(sorted(known))}", name)
        return found

    def whole(self, key: str, found: Any, low: int, high: int) -> int:
        """Return a whole number within limits."""
        if not isinstance(found, int) or isinstance(found, bool) or not low <= found <= high:
            raise self.wrong(key, f"a whole number from {low} to {high}", found)
        return found

    def listed(self, key: str, found: Any, most: int) -> list[Any]:
        if not isinstance(found, list) or len(found) > most:
            raise self.wrong(key, f"a list of at most {most}", found)
        return found

    def text(self, key: str, found: Any, choices: tuple[str, ...] | None = None) -> str:
        """Return a short text, or one of the choices."""
        if not isinstance(found, str) or len(found) > 40 or (choices is not None and found not in choices):
            expected = "a text of at most 40 characters" if choices is None else f"one of {', '.join(choices)}"
            raise self.wrong(key, "nothing, since there are no values" if choices == () else expected, found)
        return found

    def buttons(self, key: str, found: Any) -> int:
        """Return a set of buttons, named with blanks between them."""
        names = self.text(key, found).split()
        return sum(1 << BUTTONS.index(self.text(key, name, BUTTONS)) for name in set(names))

    def holds(self, key: str, found: Any, unit: str) -> tuple[Hold, ...]:
        """Return what is pressed."""
        parts = [self.mapping(key, part, {"hold", unit}) for part in self.listed(key, found, 1000)]
        return tuple(
            Hold(
                self.buttons(f"{key}.hold", part.get("hold", "")),
                self.whole(f"{key}.{unit}", part.get(unit), 1, MOST_FRAMES),
            )
            for part in parts
        )

    def file(self, key: str, found: Any) -> Path:
        name = self.text(key, found)
        if Path(name).name != name:
            raise self.wrong(key, "the name of a file in the folder of the game's file", found)
        return self.path.parent / name

    def goal(self, found: Any) -> tuple[Hold, ...] | Path:
        """Return the picture or the moves of a stage."""
        return self.file("goals", found) if isinstance(found, str) else self.holds("goals", found, "steps")

    def value(self, found: Any) -> Value:
        parts = self.mapping("values", found, {"name", "address", "bytes", "format", "reward"})
        reward = parts.get("reward", 0)
        if not isinstance(reward, int | float) or isinstance(reward, bool) or not abs(reward) <= 1e6:
            raise self.wrong("values.reward", "a number", reward)
        return Value(
            self.text("values.name", parts.get("name")),
            self.whole("values.address", parts.get("address"), 0x8000, 0xFFFE),
            self.whole("values.bytes", parts.get("bytes", 1), 1, 8),
            self.text("values.format", parts.get("format", "binary"), FORMATS),
            float(reward),
        )

    def end(self, found: Any, names: list[str]) -> End:
        """Return an outcome, given the names of the values."""
        parts = self.mapping("ends", found, {"outcome", "tone", "address", "equals", "least", "most", "when"})
        when = parts.get("when")
        floor = parts.get("least", 0) if when is not None else 0
        low = parts.get("least", 0) if when is None else 0
        equals = parts.get("equals")
        return End(
            self.text("ends.outcome", parts.get("outcome")),
            cast("Tone", self.text("ends.tone", parts.get("tone", "neutral"), TONES)),
            self.whole("ends.address", parts.get("address"), 0x8000, 0xFFFE),
            self.whole("ends.equals or ends.least", low if equals is None else equals, 0, 255),
            self.whole("ends.equals or ends.most", parts.get("most", 255) if equals is None else equals, 0, 255),
            names.index(self.text("ends.when", when, tuple(names))) if when is not None else -1,
            self.whole("ends.least", floor, 0, 1 << 40),
        )

    def read(self) -> Game:
        """Return the game.

        Raises:
            UnreadableFile: The file cannot be read, or is not YAML.
            BadParameter: A key is unknown, or has a bad value.
        """
        known = {"title", "snapshot", "start", "actions", "frames", "press", "steps", "values", "ends", "goals"}
        parts = self.mapping("the file", read_yaml(self.path, LIMIT), known)
        actions = self.listed("actions", parts.get("actions"), 64)
        if not actions:
            raise self.wrong("actions", "at least one button set", actions)
        frames = self.whole("frames", parts.get("frames", 24), 1, 240)
        values = tuple(self.value(found) for found in self.listed("values", parts.get("values", []), MOST_VALUES))
        names = [value.name for value in values]
        return Game(
            title=self.text("title", parts.get("title")),
            start=self.holds("start", parts.get("start", []), "frames"),
            snapshot=self.file("snapshot", parts["snapshot"]) if "snapshot" in parts else None,
            actions=tuple(self.buttons("actions", found) for found in actions),
            names=tuple(" ".join(found.split()) or "nothing" for found in actions),
            frames=frames,
            press=self.whole("press", parts.get("press", min(8, frames)), 1, frames),
            steps=self.whole("steps", parts.get("steps", 1000), 1, 1_000_000),
            values=values,
            ends=tuple(self.end(found, names) for found in self.listed("ends", parts.get("ends", []), MOST_ENDS)),
            goals=tuple(self.goal(found) for found in self.listed("goals", parts.get("goals", []), MOST_GOALS)),
        )


def known_games() -> tuple[str, ...]:
    return tuple(sorted(path.stem for path in FOLDER.glob("*.yaml")))


def find_game(name: str, rom: str) -> Game:
    """Return a game: `NAME.yaml` beside the ROM, or else the game of this package.

    Raises:
        UnreadableFile: See `GameReader.read`.
        BadParameter: See `GameReader.read`; or there is no such game.
    """
    wanted = name or (Path(rom).stem if rom else OWN_GAMES[0])
    beside = Path(rom).parent / f"{wanted}.yaml"
    if rom and beside.is_file():
        return GameReader(beside).read()
    if wanted not in known_games():
        raise BadParameter(
            f"there is no game {wanted!r}: write {beside if rom else 'a ROM and its file'}, or set game to one of "
            f"{', '.join(known_games())}"
        )
    return GameReader(FOLDER / f"{wanted}.yaml").read()
