"""The endpoints of the HTTP server, asked by a plain client as anybody's would."""

from __future__ import annotations

import asyncio
import http.client
import json
import threading
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pac.backends import BackendUnavailable
from pac.backends.http_backend import messages
from pac.backends.http_backend.server import HOME, MOST_BODY, HttpServer, listen
from pac.envs import find

TOKEN = "a-token-of-tests"
KEYS = ("action", "actions", "env", "episode", "fields", "look", "seed", "other")


class Client:
    """Asks a server that runs in a thread of this process."""

    def __init__(self, task, num_envs: int = 2, seed: int = 3) -> None:
        self.ended = False
        task.prepare()
        listener = listen(0)
        self.port = listener.getsockname()[1]
        server = HttpServer(task, 0, num_envs, seed=seed, token=TOKEN)
        self.thread = threading.Thread(target=lambda: asyncio.run(server.run(listener, lambda: self.ended)))
        self.thread.start()
        self.connection = http.client.HTTPConnection(HOME, self.port, timeout=120)

    def ask(self, method: str, path: str, body=None, token: str = TOKEN):
        """Return the status and the answer."""
        data = body if body is None or isinstance(body, str | bytes) else json.dumps(body)
        self.connection.request(method, path, data, {"Authorization": f"Bearer {token}"} if token else {})
        response = self.connection.getresponse()
        assert response.headers["Content-Type"].startswith("application/json")
        return response.status, json.loads(response.read())

    def post(self, path: str, **body):
        """Return the answer to a request that is well."""
        status, answer = self.ask("POST", path, body)
        assert status == 200, answer
        return answer

    def close(self) -> None:
        self.connection.close()
        self.ended = True
        self.thread.join(20)


@pytest.fixture(scope="module")
def serve():
    """Start servers that end with the module."""
    clients = []

    def start(task, **options):
        clients.append(Client(find(task) if isinstance(task, str) else task, **options))
        return clients[-1]

    yield start
    for client in clients:
        client.close()


@pytest.fixture(scope="module")
def counter(serve, toy):
    return serve(toy("Counter", length=3))


def test_health_and_spaces(serve, toy):
    """They say whether an episode has begun, and what goes in and out."""
    counter = serve(toy("Counter"))
    assert counter.ask("GET", "/health")[1]["initialized"] is False
    counter.post("/reset")
    health, spaces = counter.ask("GET", "/health")[1], counter.ask("GET", "/spaces")[1]
    assert (health["status"], health["envs"], health["initialized"]) == ("ok", [0, 1], True)
    assert (spaces["observation"], spaces["actions"], spaces["players"]) == (3, 4, 1)
    assert (spaces["shape"], spaces["dtype"]) == ([3], "float32")


def test_composite_and_continuous_actions(serve):
    """Several components come with their choices, continuous ones with their bounds, and are sent as lists."""
    levers, arm = serve("kinds:Levers"), serve("kinds:Arm")
    choices, bounds = (client.ask("GET", "/spaces")[1] for client in (levers, arm))
    assert all(count > 1 for count in choices["choices"])
    assert all(low < high for low, high in bounds["bounds"])
    for client, action in ((levers, [0 for _ in choices["choices"]]), (arm, [low for low, _ in bounds["bounds"]])):
        client.post("/reset")
        assert client.post("/step", action=action)["episode_length"] == 1
        assert client.ask("POST", "/step", {"action": action[0]})[0] == 400


def test_an_episode(counter):
    """Nothing resets itself: the last observation stays, no action is legal, and a reset begins the next episode."""
    first = counter.post("/reset", seed=3)
    assert (first["observation"][0], first["reward"], first["done"], first["episode"]) == (0, 0, False, 0)
    assert first["action_mask"] == [1, 1, 1, 1]
    for action in (1, 2):
        assert counter.post("/step", action=action)["reward"] == action
    last = counter.post("/step", action=3)
    assert (last["done"], last["terminated"], last["truncated"], last["outcome"]) == (True, True, False, "terminated")
    assert (last["observation"][0], last["episode_return"], last["episode_length"]) == (3, 6, 3)
    assert last["action_mask"] == [0, 0, 0, 0]
    assert counter.ask("GET", "/observe")[1]["observation"] == last["observation"]
    assert counter.ask("POST", "/step", {"action": 0})[0] == 409
    second = counter.post("/reset")
    assert (second["observation"][0], second["done"], second["episode"]) == (0, False, 1)
    assert second["observation"][1] != first["observation"][1]
    while not counter.post("/step", action=0)["done"]:
        pass
    assert counter.post("/reset", seed=3) == first


def test_environments_are_independent(serve, toy):
    """Each has a number, an episode and seeds of its own; a GET takes the number as a parameter."""
    counter = serve(toy("Counter"))
    counter.post("/reset", env=1)
    assert counter.ask("GET", "/observe?env=0")[0] == 409
    one = counter.ask("GET", "/observe?env=1")[1]["observation"]
    assert counter.ask("POST", "/observe", {"env": 1})[1]["observation"] == one
    assert counter.post("/reset", env=0)["observation"] != one


def test_seeds_and_episodes_can_be_chosen(counter):
    """A seed begins at its first episode, and a number begins that one."""
    episodes = [counter.post("/reset", **({"seed": 9} if first else {})) for first in (True, False, False)]
    assert counter.post("/reset", episode=1)["observation"] == episodes[1]["observation"]
    assert counter.post("/reset")["observation"] == episodes[2]["observation"]
    assert counter.post("/reset", seed=9)["observation"] == episodes[0]["observation"]


def test_requests_without_the_token_are_refused(counter):
    """A missing or another token opens nothing, not even what is not there."""
    for token, path in product(("", "another", TOKEN + "x", "ä"), ("/health", "/nothing")):
        status, answer = counter.ask("GET", path, token=token)
        assert status == 401
        assert "Bearer TOKEN" in answer["error"]


@pytest.mark.parametrize(
    ("status", "asked", "part"),
    [
        (400, ("POST", "/step", "{"), "not JSON"),
        (400, ("POST", "/step", '{"action": NaN}'), "NaN"),
        (400, ("POST", "/step", "[" * 9999), "nested"),
        (400, ("POST", "/step", "[1]"), "object"),
        (400, ("POST", "/step", {}), "action: field required"),
        (400, ("POST", "/step", {"actoin": 1}), "Did you mean action?"),
        (400, ("POST", "/step", {"action": 4}), "expected 0 to 3"),
        (400, ("POST", "/step", {"action": -1}), "expected 0 to 3"),
        (400, ("POST", "/step", {"action": 2**70}), "expected 0 to 3"),
        (400, ("POST", "/step", {"action": 1.5}), "a whole number"),
        (400, ("POST", "/step", {"action": True}), "action: "),
        (400, ("POST", "/step", {"action": "x" * 999}), "got 'xxx"),
        (400, ("POST", "/step", {"action": 1, "env": 2}), "expected an environment from 0 to 1"),
        (400, ("POST", "/step-multi", {"actions": [1, 2]}), "one per seat"),
        (400, ("POST", "/reset", {"seed": -1}), "seed: "),
        (400, ("GET", "/observe?env=x", None), "env expects a whole number"),
        (400, ("GET", "/observe?enw=1", None), "Did you mean env?"),
        (404, ("GET", "/nothing", None), "POST /step"),
        (405, ("GET", "/step", None), "POST /step"),
        (413, ("POST", "/step", "x" * (MOST_BODY + 1)), "bytes"),
    ],
)
def test_what_is_refused(counter, status, asked, part):
    """Each mistake has a status and a short sentence, nothing is stepped, and the server goes on."""
    counter.post("/reset")
    answer = counter.ask(*asked)
    assert answer[0] == status
    assert part in answer[1]["error"]
    assert len(answer[1]["error"]) < 300
    assert "Traceback" not in answer[1]["error"]
    assert counter.post("/step", action=0)["observation"][0] == 1


@given(
    path=st.sampled_from(["/step", "/step-multi", "/reset", "/observe"]),
    body=st.one_of(
        st.binary(max_size=64),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
            lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=3),
            max_leaves=6,
        ),
    ),
)
def test_any_json_gets_an_answer(counter, path, body):
    """Whatever a body holds, the answer is a result or a sentence, and the server goes on."""
    counter.post("/reset")
    data = body if isinstance(body, bytes) else json.dumps(body)
    status, answer = counter.ask("POST", path, data)
    assert status in {200, 400, 409}
    assert (status == 200) == ("error" not in answer)
    assert counter.ask("GET", "/health")[0] == 200


def test_an_illegal_action(serve):
    """An action that the mask forbids is refused, and the game is where it was."""
    client = serve("drmario")
    mask = client.post("/reset")["action_mask"]
    status, answer = client.ask("POST", "/step", {"action": mask.index(0)})
    assert status == 400
    assert "action_mask" in answer["error"]
    assert client.ask("GET", "/observe")[1]["action_mask"] == mask


def test_an_environment_that_fails(serve, toy):
    """Its client gets one sentence; the server and the other environments continue."""
    client = serve(toy("Fragile", how="raise", at=0))
    client.post("/reset", env=0)
    client.post("/reset", env=1)
    status, answer = client.ask("POST", "/step", {"action": 1})
    assert status == 500
    assert answer["error"].endswith("raised ValueError: bad card")
    assert client.ask("GET", "/observe?env=1")[0] == 200


def test_several_seats(serve):
    """A task of several seats takes an action from each and answers each; the only seat's info are single numbers."""
    info = serve("autochess").post("/reset")["info"]
    assert (info["life"], info["stage"]) == (100, 1)
    client = serve("autochess:players=8")
    seats = client.post("/reset")["results"]
    assert [len(seat["observation"]) for seat in seats] == [612] * 8
    answer = client.post("/step-multi", actions=[seat["action_mask"].index(1) for seat in seats])
    assert len(answer["results"]) == 8
    assert set(answer["info"]) >= {"life", "rank", "stage", "gold"}
    assert sorted(answer["info"]["rank"]) == list(range(1, 9))
    assert set(answer["results"][0]["reward_terms"]) >= {"fight", "place"}
    status, answer = client.ask("POST", "/step", {"action": 0})
    assert (status, "/step-multi" in answer["error"]) == (400, True)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_numbers_come_back_bit_for_bit(dtype):
    """Every float is read as it was written; those that are not finite are strings, so that it stays JSON."""
    bits = np.random.default_rng(0).integers(0, 1 << 64, 2000, np.uint64).view(dtype)
    finite = bits[np.isfinite(bits)]
    odd = np.array([np.nan, np.inf, -np.inf, -0.0, np.finfo(dtype).tiny / 4, np.finfo(dtype).max], dtype)
    for values in (finite, odd):
        text = json.dumps(messages.numbers(values), allow_nan=False)
        assert np.array(json.loads(text), dtype).tobytes() == values.tobytes()


def test_a_port_that_is_taken():
    """It is an error that names the port."""
    with listen(0) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(BackendUnavailable, match=f"cannot listen on 127.0.0.1:{port}"):
            listen(port)
