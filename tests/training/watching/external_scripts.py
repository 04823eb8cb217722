"""Scripts of other projects that are watched without being changed, by commit and hash; they are not kept here.

python tests/training/watching/external_scripts.py

downloads them to the folder `external-scripts`, where the tests and `listed_scripts.py` find them.
"""

import re
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from urllib.request import urlopen

FOLDER = Path(__file__).parents[3] / "external-scripts"
BASE = "https://raw.githubusercontent.com"
BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
TIMEOUT = 60.0  # s
SB3 = ("DLR-RM/stable-baselines3", "e05d2dbe6eda0acd0ef2e316e3e4065677add3eb")
CONTRIB = ("Stable-Baselines-Team/stable-baselines3-contrib", "0ca7fdd8d1150bd3a48b86016a85db036efc3b6d")
CLEANRL = ("vwxyzjn/cleanrl", "fe8d8a03c41a7ef5b523e2e354bd01c363e786bb")


class WrongScript(Exception):
    """What was downloaded is another file."""


@dataclass(frozen=True)
class ExternalScript:
    """A file, or a block of code on a page.

    Attributes:
        name: What it is called here.
        source: Repository on GitHub and commit.
        path: The file in the repository.
        sha256: Hash of the file or block.
        block: Which block of Python on the page, from 1; 0 for the whole file.
        needs: The packages that it imports.
    """

    name: str
    source: tuple[str, str]
    path: str
    sha256: str
    block: int = 0
    needs: tuple[str, ...] = ("stable_baselines3",)

    @property
    def file(self) -> Path:
        """Where it is after the download."""
        return FOLDER / f"{self.name}.py"

    def download(self, base: str = BASE) -> str:
        """Return its text.

        Raises:
            WrongScript: It has another hash.
            OSError: It cannot be downloaded.
        """
        repository, commit = self.source
        with urlopen(f"{base}/{repository}/{commit}/{self.path}", timeout=TIMEOUT) as answer:
            text: str = answer.read().decode()
        if self.block:
            blocks = BLOCK.findall(text)
            text = blocks[self.block - 1] if self.block <= len(blocks) else ""
        self.check(text)
        return text

    def check(self, text: str) -> None:
        """Raise `WrongScript` if this is not the script."""
        if sha256(text.encode()).hexdigest() != self.sha256:
            where = f"{self.name} of {self.source[0]}"
            raise WrongScript(f"{where} has another hash: download it again, or correct the hash")


BOTH = ("stable_baselines3", "sb3_contrib")
LISTED = """
sb3_a2c quickstart 1 ff9b3212fed24e4eb8925807c1c9e673b245588e19a5d1dcbce58f4a0c266b14
sb3_dict_observation examples 4 6bef75513ff1b99aa70dfe963afa266364447f2db73fec8e1565a1d0fac21935
sb3_ppo_processes ppo 2 11b6a3ecef036c8ac1d94525423d78c3ee442ceed2d12c680d446479d548379e
contrib_tqc examples 1 6db78670b6c81a281ae0e8dcede9f0644a34dd5cc5a03577b39ca4fc033459c5
contrib_qrdqn examples 2 558f9e592641ec69b4a5d715597308776dfb038ea8e33c1e38aed4cdb6a13be4
contrib_maskable_ppo examples 3 5df2e661de407b227d3dbc759643407d43af2e11c2589e7c1bf68312cffdca87
contrib_recurrent_ppo examples 6 060e73e9e0ba70e31bf7122fff039af6fe352408de8808d929771107f18d979e
cleanrl_ppo cleanrl 0 d8dfbb7ac0b21e747b77d6e6673e566db4d6cdacc83bcebcd19cf87ad0e459ae
"""
PATHS = {"quickstart": "docs/guide/quickstart.md", "examples": "docs/guide/examples.md", "ppo": "docs/modules/ppo.md"}
SOURCES = {"sb3": (SB3, BOTH[:1]), "contrib": (CONTRIB, BOTH), "cleanrl": (CLEANRL, ("tyro", "tensorboard"))}


def _listed(name: str, page: str, block: str, digest: str) -> ExternalScript:
    source, needs = SOURCES[name.partition("_")[0]]
    return ExternalScript(name, source, PATHS.get(page, "cleanrl/ppo.py"), digest, int(block), needs)


EXTERNAL = tuple(_listed(*line.split()) for line in LISTED.split("\n") if line)


def main() -> None:
    """Download all."""
    FOLDER.mkdir(exist_ok=True)
    for script in EXTERNAL:
        script.file.write_text(script.download())
        print(script.file)  # noqa: T201


if __name__ == "__main__":
    main()
