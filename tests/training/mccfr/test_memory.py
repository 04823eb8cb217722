"""What a large game takes: its tables once, and little beside them."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from pac.backends.system.segment import runtime_directory

from ...programs import python

HERE = Path(__file__).parent


def measured(rows: int, folder: Path, *more: str) -> dict[str, Any]:
    done = python(HERE / "measured.py", str(rows), folder, *more, environ={"PYTHONPATH": str(HERE)}, check=True)
    return dict(json.loads(done.stdout))


@pytest.mark.slow
@pytest.mark.timeout(240)
def test_ten_million_information_sets_take_little_more_than_their_tables(tmp_path):
    """With ten actions each: 1.2 GB for everything together, while it is saved and while it is resumed."""
    if shutil.disk_usage(runtime_directory()).free < 2**30 or shutil.disk_usage(tmp_path).free < 2**32:
        pytest.skip("too little room")
    for more in ((), ("resumed",)):
        found = measured(10_000_000, tmp_path, *more)
        assert found["errors"] == []
        assert found["shared"] > 8e8
        assert found["shared"] + found["private"] < 1.2e9
