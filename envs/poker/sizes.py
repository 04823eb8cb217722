"""The bet sizes of an abstraction of no-limit hold'em, by situation; presets and files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Literal, NamedTuple, TypeAlias

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from ..errors import BadParameter, UnknownName
from ..files import KIB, UnreadableFile, read_yaml

STREETS = ("preflop", "flop", "turn", "river")
PASSIVE = ("fold", "call")
"""Actions that are always possible; a template names both or neither."""
MIN_RAISE, POT_RAISE, JAM = "min_raise", "pot_raise", "jam"
MOST_CHIPS = 1_000_000
LIMIT = 256 * KIB
"""The limit of the size of a file, in bytes."""


class BetSize(NamedTuple):
    """The size of a bet or raise.

    Attributes:
        unit: `pot`: a share of what the pot is after a call; `blinds`: big blinds in all; `min`: the smallest that the
            rules allow; `jam`: everything.
        number: Of shares or blinds.
    """

    unit: Literal["pot", "blinds", "min", "jam"]
    number: float = 0.0

    @property
    def name(self) -> str:
        """Its name among a game's actions."""
        if self.unit in {"min", "jam"}:
            return {"min": "min", "jam": "all-in"}[self.unit]
        if self.unit == "blinds":
            return f"to {self.number:g}bb"
        return "pot" if self.number == 1 else f"{100 * self.number:g}%"


WORDS = {MIN_RAISE: BetSize("min"), POT_RAISE: BetSize("pot", 1.0), JAM: BetSize("jam")}


def _sizes(value: Any, unit: Literal["pot", "blinds"]) -> tuple[BetSize, ...]:
    """Parse a template: numbers in `unit`, percentages of the pot such as `60%`, and `WORDS`."""
    if not isinstance(value, list | tuple) or not value:
        raise ValueError("a template is a list of sizes, such as [0.5, pot_raise, jam]")
    items = [str(item).strip() for item in value]
    named = [name for name in PASSIVE if name in items]
    if len(named) == 1:
        raise ValueError("fold and call can always be done: name both or neither")
    return tuple(dict.fromkeys(_size(item, unit) for item in items if item not in {*PASSIVE, "check"}))


def _size(text: str, unit: Literal["pot", "blinds"]) -> BetSize:
    if text in WORDS:
        return WORDS[text]
    try:
        size = BetSize("pot", float(text[:-1]) / 100) if text.endswith("%") else BetSize(unit, float(text))
    except ValueError:
        raise ValueError(f"a size is a number, a percentage of the pot, or one of {', '.join(WORDS)}") from None
    if not 0 < size.number <= MOST_CHIPS:
        raise ValueError("a size is above zero")
    return size


Template: TypeAlias = tuple[BetSize, ...]
InBlinds: TypeAlias = Annotated[Template, BeforeValidator(lambda value: _sizes(value, "blinds"))]
InPots: TypeAlias = Annotated[Template, BeforeValidator(lambda value: _sizes(value, "pot"))]


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class PreflopTemplates(_Frozen):
    """Templates before the flop; a number is a size in big blinds.

    The small blind acts first; `bb_after_call` is the big blind's choice when it only called.
    """

    sb_first_in: InBlinds
    bb_after_call: InBlinds
    facing_raise: InBlinds
    after_two_raises: InBlinds
    after_three_raises: InBlinds

    def template(self, raises: int, player: int) -> Template:
        if raises == 0:
            return self.bb_after_call if player else self.sb_first_in
        return (self.facing_raise, self.after_two_raises, self.after_three_raises)[min(raises, 3) - 1]

    @property
    def templates(self) -> tuple[Template, ...]:
        every = (self.facing_raise, self.after_two_raises, self.after_three_raises)
        return self.sb_first_in, self.bb_after_call, *every


class PostflopTemplates(_Frozen):
    """Templates of a street from the flop on; a number is a share of the pot."""

    first_aggressive: InPots
    facing_bet: InPots
    after_one_raise: InPots
    after_two_raises: InPots

    def template(self, raises: int, player: int) -> Template:
        """Return the sizes that a player has after so many bets and raises."""
        del player
        return self.templates[min(raises, 3)]

    @property
    def templates(self) -> tuple[Template, ...]:
        return self.first_aggressive, self.facing_bet, self.after_one_raise, self.after_two_raises


class BetSizes(_Frozen):
    """An abstraction of the betting: the content of a file or a preset.

    Attributes:
        blinds: Chips of the small and of the big blind.
        preflop_templates: Before the flop.
        postflop_templates: On every street from the flop on that has no templates of its own.
        jam_spr_threshold: Where what is left to bet is less than so many pots, the only raise is all-in.
        all_in_share: A bet that puts in at least this share of a stack is made all-in.
        max_raises: After so many bets and raises of a street only those templates' all-in is left; one for all streets
            or one for each.
    """

    blinds: tuple[int, int] = (1, 2)
    preflop_templates: PreflopTemplates
    postflop_templates: PostflopTemplates
    flop_templates: PostflopTemplates | None = None
    turn_templates: PostflopTemplates | None = None
    river_templates: PostflopTemplates | None = None
    jam_spr_threshold: float = Field(0.0, ge=0)
    all_in_share: float = Field(1.0, gt=0, le=1)
    max_raises: tuple[int, int, int, int] = (4, 4, 4, 4)

    @model_validator(mode="before")
    @classmethod
    def _one_for_all(cls, values: Any) -> Any:
        if isinstance(values, Mapping) and isinstance(values.get("max_raises"), int):
            return {**values, "max_raises": (values["max_raises"],) * len(STREETS)}
        return values

    @model_validator(mode="after")
    def _in_order(self) -> BetSizes:
        small, big = self.blinds
        if not 0 < small <= big <= MOST_CHIPS:
            raise ValueError(f"blinds are chips, the small one first, got {small} and {big}")
        if not all(1 <= most <= 8 for most in self.max_raises):
            raise ValueError(f"max_raises are from 1 to 8, got {', '.join(map(str, self.max_raises))}")
        return self

    def street(self, street: int) -> PreflopTemplates | PostflopTemplates:
        if street == 0:
            return self.preflop_templates
        own = (self.flop_templates, self.turn_templates, self.river_templates)[street - 1]
        return own or self.postflop_templates

    @property
    def offered(self) -> tuple[BetSize, ...]:
        """All sizes of all templates, in ascending order, all-in last."""
        found = {size for street in range(len(STREETS)) for one in self.street(street).templates for size in one}
        units = ("min", "blinds", "pot")
        return *sorted(found - {WORDS[JAM]}, key=lambda size: (units.index(size.unit), size.number)), WORDS[JAM]


def _every(*sizes: object) -> Mapping[str, Any]:
    return {
        "preflop_templates": dict.fromkeys(PreflopTemplates.model_fields, sizes),
        "postflop_templates": dict.fromkeys(PostflopTemplates.model_fields, sizes),
    }


def _streets_of_two(first: tuple[str, ...], raised: tuple[str, ...]) -> Mapping[str, Any]:
    return {"first_aggressive": first, **dict.fromkeys(list(PostflopTemplates.model_fields)[1:], raised)}


PRESETS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "standard": {
            "preflop_templates": {
                "sb_first_in": ("fold", "call", 2.5, 3.5, 5.0),
                "bb_after_call": (3.0, 5.0),
                "facing_raise": (POT_RAISE, JAM),
                "after_two_raises": (POT_RAISE, JAM),
                "after_three_raises": (JAM,),
            },
            "postflop_templates": {
                "first_aggressive": (0.33, 0.66, 1.25),
                "facing_bet": (MIN_RAISE, POT_RAISE, JAM),
                "after_one_raise": (POT_RAISE, JAM),
                "after_two_raises": (JAM,),
            },
            "jam_spr_threshold": 2.0,
        },
        "fcpa": {**_every(POT_RAISE, JAM), "max_raises": 8},
        "wide": {
            "blinds": (100, 200),
            "preflop_templates": {
                "sb_first_in": ("60%", "120%", JAM),
                "bb_after_call": ("60%", "120%", JAM),
                "facing_raise": (POT_RAISE, JAM),
                "after_two_raises": ("80%", JAM),
                "after_three_raises": ("80%", JAM),
            },
            "postflop_templates": _streets_of_two(("50%", "100%", JAM), ("100%", JAM)),
            "flop_templates": _streets_of_two(("33%", "75%", JAM), ("100%", JAM)),
            "all_in_share": 0.9,
            "max_raises": (4, 3, 3, 3),
        },
    }
)
"""`standard`; `fcpa`: fold, call, pot, all-in; `wide`: two sizes where nobody has bet, all-in everywhere."""


def sizes_of(name: str) -> BetSizes:
    """Return the sizes of a preset, or of a YAML or JSON file.

    Args:
        name: One of `PRESETS`, or the path of a file.

    Raises:
        UnknownName: The name is neither.
        BadParameter: The file cannot be read or has bad values.
    """
    if name in PRESETS:
        return BetSizes.model_validate(PRESETS[name])
    path = Path(name).expanduser()
    if path.suffix not in {".yaml", ".yml", ".json"}:
        raise UnknownName("betting", name, [*PRESETS, "FILE.yaml", "FILE.json"])
    return _read(path)


def _read(path: Path) -> BetSizes:
    try:
        values = read_yaml(path, LIMIT)
    except UnreadableFile as error:
        raise BadParameter(f"the betting of {path} cannot be read: {error.reason}") from error
    try:
        return BetSizes.model_validate(values)
    except ValidationError as error:
        places = [(".".join(map(str, item["loc"])), item["msg"].lower()) for item in error.errors()]
        raise BadParameter(f"{path}: " + "; ".join(f"{place}: {what}".lstrip(": ") for place, what in places)) from None
