"""The threads of pac-tui in a script's process, which the script does not see."""

import os
import threading

from pac.training.own_threads import OwnThread


def test_a_thread_that_asks_which_one_it_is_stays_hidden():
    """As modules do while they are imported: it would be added to the program's threads as a dummy."""
    before, asked, over = threading.enumerate(), threading.Event(), threading.Event()
    found = []

    def run():
        found.append(threading.current_thread())
        asked.set()
        over.wait()

    thread = OwnThread(run, "hidden")
    thread.start()
    asked.wait()
    assert threading.enumerate() == before
    assert found == [thread]
    over.set()
    thread.join()
    assert threading.enumerate() == before
    assert not thread.is_alive()


def test_other_threads_are_known_as_before():
    """Also those that Python did not start, and those of a child process."""
    OwnThread(lambda: None, "hidden").start()
    thread = threading.Thread(target=lambda: found.append(threading.current_thread()))
    found: list[threading.Thread] = []
    thread.start()
    thread.join()
    assert found == [thread]
    child = os.fork()
    if not child:
        os._exit(threading.current_thread() is not threading.main_thread() or len(threading.enumerate()) != 1)
    assert os.waitpid(child, 0)[1] == 0
