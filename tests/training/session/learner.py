"""A process that is neither session nor worker. It passes a session's gate again and again and counts its passes.

Arguments: the directory of the session, and a file of 8 bytes for the count.
"""

import mmap
import sys
from pathlib import Path

from pac.training.session.gate import Gate
from pac.training.trainer import Stopped

gate = Gate.attach(Path(sys.argv[1]))
with Path(sys.argv[2]).open("r+b") as file:
    count = memoryview(mmap.mmap(file.fileno(), 8)).cast("q")
sys.stdout.write("attached\n")
sys.stdout.flush()
try:
    while True:
        gate.enter()
        count[0] += 1
except Stopped:
    sys.stdout.write("stopped\n")
