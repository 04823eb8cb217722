"""Maps the four top-level folders, and every package below them, into the `pac` namespace."""

from setuptools import find_packages, setup

FOLDERS = ("envs", "backends", "training", "tui")

setup(
    packages=[
        f"pac.{name}" for folder in FOLDERS for name in (folder, *(f"{folder}.{sub}" for sub in find_packages(folder)))
    ],
    package_dir={f"pac.{folder}": folder for folder in FOLDERS},
    package_data={"": ["*.tcss", "*.yaml", "*.asm", "py.typed"]},
)
