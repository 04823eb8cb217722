"""`notes.json`: the tags of a run, and a note, which the user has given it."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass
from typing import Annotated

from ...envs import BadParameter
from ...envs.entries import Place, entry_of
from ...envs.files import KIB, UnreadableFile, read_json, write_whole
from ...envs.schema import InvalidValue, Length, checked
from .metadata import RunFolderError

FILE = "notes.json"
LIMIT = 64 * KIB
MOST_TAGS, MOST_TAG, MOST_NOTE = 32, 64, 4096
TAG = re.compile(r"[^\W\d]\w*")


@dataclass(frozen=True)
class RunNotes:
    """What a user says about a run."""

    tags: Annotated[tuple[Annotated[str, Length(most=MOST_TAG)], ...], Length(most=MOST_TAGS)] = ()
    note: Annotated[str, Length(most=MOST_NOTE)] = ""


def read(folder: Place) -> RunNotes:
    """Return the notes about a run; empty ones if there is no file.

    Raises:
        RunFolderError: The file cannot be read, or is not such a file.
    """
    path = entry_of(folder) / FILE
    try:
        found: RunNotes = checked(read_json(path, LIMIT), RunNotes)
    except UnreadableFile as error:
        if error.missing:
            return RunNotes()
        raise RunFolderError(f"{error}; remove it") from error
    except InvalidValue as error:
        raise RunFolderError(f"{path} does not contain notes: {error}; remove it") from None
    return found


def write(folder: Place, notes: RunNotes) -> None:
    """Write the notes about a run.

    Raises:
        BadParameter: They are too long.
        RunFolderError: The file cannot be written.
    """
    if len(notes.note) > MOST_NOTE or len(notes.tags) > MOST_TAGS:
        raise BadParameter(f"a run has a note of at most {MOST_NOTE:,} characters, and at most {MOST_TAGS} tags")
    try:
        write_whole(entry_of(folder) / FILE, json.dumps(asdict(notes), indent=2) + "\n")
    except OSError as error:
        raise RunFolderError(f"{entry_of(folder) / FILE} cannot be written: {error.strerror}") from error


def tagged(notes: RunNotes, words: tuple[str, ...]) -> RunNotes:
    """Return notes with more tags, and without those that are named after a minus sign.

    Raises:
        BadParameter: One is not a tag.
    """
    tags = dict.fromkeys(notes.tags)
    for word in words:
        name = word.removeprefix("-")
        if TAG.fullmatch(name) is None or len(name) > MOST_TAG:
            raise BadParameter(f"a tag is a word of letters, digits and _, or -WORD to remove it; got {word!r}")
        if word == name:
            tags[name] = None
        else:
            tags.pop(name, None)
    return RunNotes(tuple(tags), notes.note)
