"""What the backends' tests share: the faulty environments are importable, and nothing may be left behind."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pac.backends.system.segment import own_directory
from pac.envs import Task
from pac.envs.gym.probing import describe_here

HERE = Path(__file__).parent
APART = {"shm", "socket", "http"}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave workers and servers to the whole suite: the quick part shows in one process what holds of all backends."""
    for item in items:
        chosen = getattr(item, "callspec", None)
        if HERE in item.path.parents and chosen and APART.intersection(map(str, chosen.params.values())):
            item.add_marker(pytest.mark.session)


@pytest.fixture(autouse=True, scope="module")
def _importable() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(HERE))
        yield


@pytest.fixture(autouse=True)
def _clean() -> Iterator[None]:
    before = set(own_directory().iterdir())
    yield
    assert set(own_directory().iterdir()) <= before, "a backend left files behind"


@pytest.fixture(scope="session")
def toy() -> Callable[..., Task]:
    """Describe an environment of `faulty.py`."""

    def build(name: str, **arguments: object) -> Task:
        tail = ",".join(f"{key}={value}" for key, value in arguments.items())
        spec = f"faulty:{name}" + (f":{tail}" if tail else "")
        return describe_here(spec, f"faulty:{name}", {key: str(value) for key, value in arguments.items()})

    return build


@pytest.fixture(scope="session")
def alive() -> Callable[[int], bool]:
    """Return a function that tells whether a process is running; a zombie is not."""

    def look(pid: int) -> bool:
        try:
            return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
        except OSError:
            return False

    return look
