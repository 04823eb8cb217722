"""`pac-tui report`: one HTML file of a run that loads nothing and trusts nothing."""

import base64
import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from pac.envs import find
from pac.training.past.episode import Episode, RecordedStep
from pac.training.past.episode_file import write as write_episode
from pac.training.runs import notes
from pac.training.runs.folder import RunFolder
from pac.tui.cli.commands import main
from pac.tui.cli.flags import Flags
from pac.tui.cli.report import command_of

from ..attack_text import hostile, smuggled

ATTACK = "</td></section></svg><script>alert(1)</script><img src=http://a.b/c onerror=alert(2)>\"'&{};"
VOID = {"meta", "img"}


class Page(HTMLParser):
    """Reads a page: its elements with their attributes, and its text; what is open at the end is an error."""

    def __init__(self, text):
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert not self._open
        self.text = " ".join(" ".join(self.words).split())

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID and not (self.get_starttag_text() or "").endswith("/>"):
            self._open.append(tag)

    def handle_endtag(self, tag):
        if tag in {"rect", "line", "polyline", "polygon", "circle", "path"} and tag != self._open[-1]:
            return
        assert self._open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)

    def count(self, tag):
        return sum(name == tag for name, _ in self.elements)

    def sources(self):
        """Return everything that a browser might load or open."""
        names = {"src", "href", "xlink:href", "data", "action", "poster", "srcset", "background"}
        return [value for _, attrs in self.elements for name, value in attrs.items() if value and name in names]


@pytest.fixture
def run(tmp_path, monkeypatch, runtime_directory):
    """Return a run with metrics, an evaluation, a finding, a change of a setting, a film and a note."""
    monkeypatch.chdir(tmp_path)
    run = RunFolder.create(tmp_path / "runs", "sound")
    finding = {"number": 1, "rule": "no_rule", "severity": "fault", "text": "the loss is NaN", "advice": "look"}
    finding |= {"value": 1.0, "threshold": 0.0, "step": 5, "began": 1e9, "ended": None, "env": -1, "curve": ""}
    change = {"step": 10, "seconds": 1.0, "frames": 10, "name": "clip", "from": "0.2", "to": "0.1"}
    run.write_metadata(
        {
            "task": "drmario",
            "trainer": "ppo",
            "state": "completed",
            "started": 1e9,
            "steps": 20,
            "num_envs": 4,
            "version": "0.1.0",
            "machine": {"cpu": "A fine processor", "cores": 2},
            "findings": [finding],
            "changes": [change],
            "config": {"task": "drmario", "seed": 7, "video": True, "settings": {"clip": 0.1, "epochs": 17}},
        }
    )
    for number in range(1, 4):
        row = {"iterations": number, "steps": 10 * number, "seconds": number, "return_mean": number / 2}
        run.append_metrics({**row, "loss/value": 1 / number, **({"eval/return": 0.25} if number > 1 else {})})
    notes.write(run.entry(), notes.RunNotes(("baseline",), "a note"))
    run.episodes.mkdir()
    (run.episodes / "env1-episode2.mp4").write_bytes(b"film" * 1000)
    return run


def report(*arguments):
    """Write a report; return its page and its source."""
    assert main(["report", "sound", *arguments]) == 0
    text = Path("sound.html").read_text(encoding="utf-8")
    return Page(text), text


def test_a_report_contains_all_that_is_known_of_a_run(run, capsys):
    """Results, curves as pictures, evaluation, findings, films, settings with their source, machine and command."""
    page, _ = report()
    assert "wrote sound.html" in capsys.readouterr().out
    for word in (
        "Return 1.500 (best 1.500)",
        "baseline",
        "a note",
        "the loss is NaN",
        "A fine processor",
        "env1-episode2.mp4",
    ):
        assert word in page.text
    assert "epochs 17 given" in page.text
    assert "clip 0.1 changed during the training" in page.text
    assert "The last" not in page.text
    assert page.count("svg") == 3
    (source,) = page.sources()
    assert source == f"data:video/mp4;base64,{base64.b64encode(b'film' * 1000).decode()}"
    assert (
        "pac-tui run --task drmario --trainer ppo --num-envs 4 --seed 7 --video --set ppo.clip=0.1 --set" in page.text
    )


def test_a_report_loads_nothing_from_elsewhere(run):
    """All sources are data, and a browser that obeys the page's policy would load nothing else."""
    page, text = report()
    assert all(source.startswith("data:") for source in page.sources())
    assert not re.search(r"@import|url\(|<script|<link|<iframe|<base", text)
    policy = next(attrs["content"] or "" for tag, attrs in page.elements if "http-equiv" in attrs)
    assert policy.startswith("default-src 'none'")
    assert set(re.findall(r"https?://[^\"'\s<)]+", text)) == {"http://www.w3.org/2000/svg"}  # a name, not an address


def test_films_beyond_the_limit_are_named(run):
    """The newest are contained."""
    page, _ = report("--limit", "0")
    assert page.count("video") == 0
    assert "at most 0 MiB of films (--limit)" in page.text


def test_of_an_episode_without_a_film_there_is_the_last_board(run):
    """It is played again for that; one that cannot be drawn says why."""
    task = find("treasure")
    steps = (RecordedStep(None, 0.0, {}), *[RecordedStep(np.zeros(task.players, np.int32), 0.0, {})] * 3)
    write_episode(run.episodes / "env3-episode1.jsonl", Episode(task, 3, 1, 4, "a-run", replays=True, steps=steps))
    (run.episodes / "broken.jsonl").write_text("{}")
    page, _ = report()
    assert page.count("svg") == 4
    assert "step 3/3" in page.text
    assert "env3-episode1.jsonl: the last board of 3 steps" in page.text
    assert "broken.jsonl: not drawn: " in page.text


def test_what_files_contain_is_text(run):
    """Names, texts and numbers of a hostile run neither become elements nor reach a terminal."""
    attack = hostile(ATTACK)
    metadata = run.metadata() | {
        "task": attack,
        "trainer": attack,
        "error": attack,
        "version": attack,
        "device": attack,
    }
    metadata["machine"] = {attack: attack}
    metadata["config"] = {"task": attack, attack: attack, "settings": {attack: attack, "clip": [attack]}}
    metadata["findings"] = [{**metadata["findings"][0], "rule": attack, "text": attack, "advice": attack}]
    metadata["changes"] = [{**metadata["changes"][0], "name": attack}]
    run.write_metadata(metadata)
    run.append_metrics({"steps": 40, "seconds": 5, attack: 1.0, "eval/<b>": 1e308, "loss/value": -1e308})
    notes.write(run.entry(), notes.RunNotes((), attack))
    (run.episodes / "<script>alert(3)<\x1b[31mx.mp4").write_bytes(b"film")
    (run.episodes / "<b>.jsonl").write_text(ATTACK)
    page, text = report()
    assert (page.count("script"), page.count("img"), page.count("b")) == (0, 0, 1)  # the finding's text is bold
    assert not any("onerror" in attrs for _, attrs in page.elements)
    assert all(source.startswith("data:") for source in page.sources())
    assert not smuggled(text)
    assert "nan" not in text.lower().replace("the loss is nan", "")


def test_a_watched_script_is_reported_with_its_command(run):
    """Its task names no code that is imported."""
    config = {"arguments": ["train.py", "--name", "a b"], "cwd": "/work", "settings": {}}
    run.write_metadata({"task": "os:getcwd", "trainer": "script", "state": "completed", "config": config})
    page, _ = report("--trust")
    assert "In /work: pac-tui watch train.py --name 'a b'" in page.text


def test_the_command_means_the_same_configuration(run):
    """Parsed, it gives the options and settings of the run."""
    config = {
        "task": "drmario",
        "wrap": [],
        "seed": 3,
        "eval_every": 5,
        "baseline": False,
        "breakpoints": ["reward > 1"],
    }
    words = command_of({"task": "drmario", "trainer": "ppo", "num_envs": 8, "config": config}, None)
    assert words == (
        "pac-tui run --task drmario --trainer ppo --num-envs 8 --seed 3 --eval-every 5 --baseline false "
        "--break 'reward > 1'"
    )
    assert Flags.model_fields.keys() >= set(config)
