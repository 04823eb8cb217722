"""What takes long to load can be given up."""

import threading

import pytest

from pac.training.imports import Loading

from ..waiting import until


class Ended(Exception):
    """Nobody waits any more."""


@pytest.mark.parametrize("swallowed", [False, True])
def test_another_thread_ends_it(swallowed):
    """Whatever the error becomes on its way out; asked twice, it ends once."""
    loading, inside, came = Loading(Ended), threading.Event(), []

    def load():
        try:
            with loading:
                inside.set()
                try:
                    until(lambda: False, "the end")
                except Ended:
                    if swallowed:
                        raise ImportError from None
                    raise
        except Exception as error:
            came.append(type(error))

    thread = threading.Thread(target=load)
    thread.start()
    assert inside.wait(60)
    loading.end()
    loading.end()
    thread.join(60)
    assert came == [Ended]


def test_nobody_in_it_is_ended():
    """Neither before nor after; what went wrong by itself stays what it is."""
    loading = Loading(Ended)
    loading.end()
    with pytest.raises(ImportError), loading:
        raise ImportError
    loading.end()
