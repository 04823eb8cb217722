"""Runs the tests, and those that failed once more, one at a time: `python tests/run.py [ARGUMENTS OF PYTEST ...]`.

A test of real processes can fail because other programs keep the cores busy. What passed only then is named at the end,
counted, and shown with its first failure.
"""

import subprocess
import sys
import tempfile
from pathlib import Path
from xml.etree import ElementTree as ET

ALL = ("-n", "auto", "--dist", "loadfile", "--no-loadscope-reorder")
AGAIN = ("--last-failed", "--last-failed-no-failures", "none")
SHOWN = 12  # lines of a failure


def results(report: Path) -> dict[str, str]:
    """Return the end of the failure of each test in a JUnit report, which is empty if the test passed."""
    found: dict[str, str] = {}
    for case in ET.parse(report).iter("testcase") if report.exists() else ():
        name = f"{case.get('classname')}::{case.get('name')}"
        found.setdefault(name, "")
        for failure in (*case.iter("failure"), *case.iter("error")):
            lines = (failure.text or failure.get("message") or "").strip().splitlines() or ["without a message"]
            found[name] = "\n".join(f"    {line}" for line in lines[-SHOWN:])
    return found


def main(arguments: list[str]) -> int:
    """Run the tests; return the exit code of pytest, of the second run if there was one."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.xml")
        command = [sys.executable, "-m", "pytest", "-q", *arguments]
        code = subprocess.run([*command, *ALL, f"--junitxml={report}"], check=False).returncode
        failed = {name: text for name, text in results(report).items() if text}
        if code != 1 or not failed:
            return code
        report.unlink()
        command = [part for part in command if part != "--record-durations"]  # which are those of all tests
        code = subprocess.run([*command, *AGAIN, f"--junitxml={report}"], check=False).returncode
        again = results(report)  # without those that could not be tried again
        late = {name: text for name, text in failed.items() if again.get(name) == ""}
    sys.stdout.write(f"\n{len(late)} passed only when it was tried again, alone:\n" if late else "")
    for name, text in late.items():
        sys.stdout.write(f"\n{name}, which first failed with\n{text}\n")
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
