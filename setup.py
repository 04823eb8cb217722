"""Maps the four top-level folders, and every package below them, into the `pac` namespace."""

from pathlib import Path

from setuptools import find_packages, setup
from setuptools.command.build_py import build_py

FOLDERS = ("envs", "backends", "training", "tui")
STARTUP_FILE = "pac_tui_watch.pth"
STARTUP = (
    "import os, sys; os.environ.get('PAC_WATCH') and (lambda own: __import__('runpy').run_path("
    "os.path.join(own, 'training', 'watching', 'startup', 'sitecustomize.py'))['import_privately']("
    "own, 'training.watching.start').start_if_asked())(os.path.join(sys._getframe(1).f_locals['sitedir'], 'pac'))\n"
)
"""Python executes this line when it starts: `PAC_WATCH=1 python train.py` watches the script."""


class BuildWithStartupFile(build_py):
    """Also puts the file into the wheel that Python reads when it starts."""

    def run(self) -> None:
        """Build, and write the file."""
        super().run()
        if not self.editable_mode:
            Path(self.build_lib, STARTUP_FILE).write_text(STARTUP)

    def get_outputs(self, include_bytecode: bool = True) -> list[str]:
        """Return the files that are built."""
        own = [] if self.editable_mode else [str(Path(self.build_lib, STARTUP_FILE))]
        return [*super().get_outputs(include_bytecode), *own]


setup(
    packages=[
        f"pac.{name}" for folder in FOLDERS for name in (folder, *(f"{folder}.{sub}" for sub in find_packages(folder)))
    ],
    package_dir={f"pac.{folder}": folder for folder in FOLDERS},
    package_data={"": ["*.asm", "*.json", "*.tcss", "*.yaml", "py.typed"]},
    cmdclass={"build_py": BuildWithStartupFile},
)
