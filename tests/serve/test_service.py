"""The service over HTTP: what it answers to whom, and that nobody keeps it from answering others."""

import http.client
import json
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from services import SHOP, TOKEN, serving

from tpstream.model.errors import DeciderError, ServiceError
from tpstream.serve.client import Client
from tpstream.serve.config import ServiceConfig
from tpstream.serve.requests import Close, Deliver, Lost
from tpstream.serve.responses import STATUS
from tpstream.serve.server import Server

LIMITS = {"body": 10_000, "items": 5, "seconds": 0.6, "connections": 150}


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A shop with a token, and another experiment with none."""
    folder = tmp_path_factory.mktemp("service")
    (folder / "token").write_text(f"{TOKEN}\n")
    other = SHOP | {"name": "other"}
    with serving(folder, SHOP | {"token_file": "token"}, other, limits=LIMITS) as server:
        yield server


def ask(
    server: Server, method: str, path: str, body: Any = None, *, token: str | None = TOKEN, **headers: str
) -> tuple[int, Any, http.client.HTTPMessage]:
    """Status, content and headers of an answer; a body that is no text is sent as JSON."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    given = {"Content-Type": "application/json"} | ({} if token is None else {"Authorization": f"Bearer {token}"})
    given |= {name.replace("_", "-"): value for name, value in headers.items()}
    sent = body if body is None or isinstance(body, (str, bytes)) else json.dumps(body)
    connection.request(method, path, sent, given)
    answer = connection.getresponse()
    content = answer.read()
    connection.close()
    is_json = answer.headers.get_content_type() == "application/json"
    return answer.status, json.loads(content) if is_json else content.decode(), answer.headers


def test_a_decision_and_what_it_pays(service: Server) -> None:
    """Is decided, credited, lost and closed; the same key has the same answer, and another content is a conflict."""
    status, decision, _ = ask(service, "POST", "/shop/decide", {"key": "offer", "at": 1.0})
    assert (status, decision["repeated"], decision["name"] in SHOP["arms"]) == (200, False, True)
    again = ask(service, "POST", "/shop/decide", {"key": "offer", "at": 1.0})[1]
    assert again == decision | {"repeated": True}
    token = decision["token"]
    payment = {"token": token, "amount": 2.5, "key": "payment", "part": 1, "at": 1.5}
    assert ask(service, "POST", "/shop/deliver", payment)[1]["status"] == "credited"
    assert ask(service, "POST", "/shop/deliver", payment)[1]["repeated"]
    assert ask(service, "POST", "/shop/deliver", payment | {"amount": 3.0})[0] == 409
    several = [
        {"type": "lost", "token": token, "part": 2, "at": 2.0},
        {"type": "close", "token": token, "at": 3.0},
        {"type": "deliver", "token": "7-unknown", "amount": 1.0, "key": "b", "at": 3.0},
    ]
    status, found, _ = ask(service, "POST", "/shop/deliver", several)
    assert (status, [one.get("status", one.get("code")) for one in found]) == (207, ["lost", "closed", 404])


@pytest.mark.parametrize(
    ("body", "status", "reason"),
    [
        ('{"key":', 400, "no-json"),
        ("[" * 5000, 422, "bad-value"),
        (b'{"key": "\xff"}', 400, "no-json"),
        ({"key": "a", "kez": 1}, 422, "bad-value"),
        ({"key": 3}, 422, "bad-value"),
        ({}, 422, "bad-value"),
        ({"key": "a", "at": "now"}, 422, "bad-value"),
        ('{"key": "a", "at": 1e999}', 422, "bad-value"),
        ({"key": "k" * 1000, "at": 9.0}, 422, "bad-value"),
        ({"key": "", "at": 9.0}, 422, "bad-value"),
        ({"key": "k" * 20_000, "at": 9.0}, 413, "request-entity-too-large"),
    ],
)
def test_bad_bodies(service: Server, body: Any, status: int, reason: str) -> None:
    """Are refused with what is wrong and what to do, and change nothing."""
    before = ask(service, "GET", "/other/state")[1]["events"]
    found, error, _ = ask(service, "POST", "/other/decide", body)
    assert (found, error["reason"], bool(error["error"]), bool(error["remedy"])) == (status, reason, True, True)
    assert ask(service, "GET", "/other/state")[1]["events"] == before


def test_deliveries_that_say_nothing(service: Server) -> None:
    """A list of none is answered with none; too many in one request are refused, and so is an unknown type."""
    assert ask(service, "POST", "/other/deliver", [])[:2] == (200, [])
    one = {"token": "x", "amount": 1.0, "key": "k"}
    assert ask(service, "POST", "/other/deliver", [one] * 6)[0] == 413
    assert ask(service, "POST", "/other/deliver", one | {"type": "bid"})[0] == 422
    assert ask(service, "POST", "/other/deliver", one)[0] == 404


@pytest.mark.parametrize(
    ("method", "path"), [("GET", "/shop/state"), ("POST", "/shop/decide"), ("GET", "/shop/events")]
)
@pytest.mark.parametrize("token", [None, "", "wrong", TOKEN[:-1], TOKEN + "x"])
def test_a_wrong_token(service: Server, method: str, path: str, token: str | None) -> None:
    """Opens nothing."""
    status, error, headers = ask(service, method, path, {"key": "a"}, token=token)
    assert (status, headers["WWW-Authenticate"]) == (401, "Bearer")
    assert TOKEN not in json.dumps(error)


def test_what_needs_no_token(service: Server) -> None:
    """Is only whether the service answers; pages about all experiments show those that the token opens."""
    assert ask(service, "GET", "/healthz", token=None)[:2] == (200, {"status": "ok"})
    assert 'experiment="shop"' not in ask(service, "GET", "/metrics", token=None)[1]
    ask(service, "POST", "/shop/decide", {"key": "counted"})
    assert 'tpstream_requests_total{experiment="shop",path="decide",status="200"}' in ask(service, "GET", "/metrics")[1]


@pytest.mark.parametrize("path", ["/state", "/decide", "/", "/?token=wrong", "/events", "/none", "", "?token=wrong"])
def test_names_are_not_found_out(service: Server, path: str) -> None:
    """Without a token, or with another, an experiment that is there and one that is not are answered alike."""
    method = "POST" if path == "/decide" else "GET"
    for token in (None, "a-token-of-another-experiment"):
        found = [ask(service, method, f"/{name}{path}", {"key": "a"}, token=token) for name in ("shop", "none")]
        assert found[0][:2] == found[1][:2]
        assert found[0][0] == (404 if path == "/none" else 401)
        headers = [{name: value for name, value in one[2].items() if name != "date"} for one in found]
        assert headers[0] == headers[1]


def test_the_page_without_its_slash(service: Server) -> None:
    """Whoever may look is led to the page, with the token or the cookie; names are unknown where all are open, too."""
    assert ask(service, "GET", "/shop")[2]["Location"] == "/shop/"
    assert ask(service, "GET", f"/shop?token={TOKEN}", token=None)[2]["Location"] == f"/shop/?token={TOKEN}"
    assert ask(service, "GET", "/other", token=None)[2]["Location"] == "/other/"


def test_other_paths_methods_and_hosts(service: Server) -> None:
    """An unknown path is 404, another method 405; another host, or a page of another site, is 403."""
    assert ask(service, "GET", "/shop/nothing")[0] == 404
    assert ask(service, "GET", "/shop/decide")[0] == 405
    assert ask(service, "GET", "/shop/state", Host="evil.example")[0] == 403
    assert ask(service, "GET", "/shop/state", Origin="http://evil.example")[0] == 403
    assert ask(service, "POST", "/shop/decide", "key=1", Content_Type="text/plain")[0] == 415


def test_the_page(service: Server) -> None:
    """Takes the token of its address into a cookie, with which one can look and not decide."""
    status, _, headers = ask(service, "GET", f"/shop/?token={TOKEN}", token=None)
    assert (status, headers["Location"]) == (303, "/shop/")
    cookie = headers["Set-Cookie"]
    assert all(word in cookie for word in ("HttpOnly", "SameSite=Strict"))
    assert TOKEN not in cookie
    name = cookie.partition(";")[0]
    status, page, headers = ask(service, "GET", "/shop/", token=None, Cookie=name)
    assert (status, "Content-Security-Policy" in page, headers["X-Frame-Options"]) == (200, True, "DENY")
    assert ask(service, "GET", "/shop/state", token=None, Cookie=name)[0] == 200
    assert ask(service, "POST", "/shop/decide", {"key": "a"}, token=None, Cookie=name)[0] == 401
    assert ask(service, "GET", "/shop/?token=wrong", token=None)[0] == 401
    assert ask(service, "GET", "/other/", token=None)[0] == 200


def test_the_stream_of_the_page(service: Server) -> None:
    """Tells a browser of the decisions that are in the log."""
    ask(service, "POST", "/other/decide", {"key": "seen", "at": 50.0})
    connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=20)
    connection.request("GET", "/other/events")
    answer, told = connection.getresponse(), b""
    while b'"round": ' not in told:
        told += answer.readline()
    connection.close()
    assert answer.getheader("Content-Type") == "text/event-stream"


def test_the_description(service: Server) -> None:
    """Every path of OpenAPI is there, for a program and as a page."""
    described = ask(service, "GET", "/openapi.json")[1]
    assert {"/{experiment}/decide", "/{experiment}/deliver", "/healthz"} <= described["paths"].keys()
    for path, methods in described["paths"].items():
        for method in methods:
            body = {} if method == "post" else None
            assert (
                ask(service, method.upper(), path.replace("{experiment}", "other"), body)[0] in {200, 422}
                or "events" in path
            )
    statuses = described["paths"]["/{experiment}/deliver"]["post"]["responses"].keys()
    assert {f"{int(status)}" for status in STATUS.values()} | {"200", "207", "405", "408", "415", "431"} <= statuses
    values = described["components"]["schemas"]
    for name, path in (("Decide", "decide"), ("Deliver", "deliver")):
        body = described["paths"][f"/{{experiment}}/{path}"]["post"]["requestBody"]["content"]["application/json"]
        assert body["example"].keys() <= values[name]["properties"].keys()
        assert set(values[name]["required"]) <= body["example"].keys()
    page = ask(service, "GET", "/docs")[1]
    assert all(path in page for path in described["paths"])


def test_the_switch(service: Server) -> None:
    """All decisions are for one arm until the policy decides again; an unknown arm is refused."""
    assert ask(service, "POST", "/other/switch", {"arm": "new", "reason": "the old one is sold out"})[0] == 200
    arms = {ask(service, "POST", "/other/decide", {"key": f"s{n}", "at": 60.0 + n})[1]["name"] for n in range(8)}
    assert (arms, ask(service, "GET", "/other/state")[1]["switch"]) == ({"new"}, "new")
    assert ask(service, "POST", "/other/switch", {"arm": "newer", "reason": "?"})[0] == 422
    assert ask(service, "POST", "/other/switch", {"arm": None, "reason": "there again"})[0] == 200


def test_slow_and_idle_connections(service: Server) -> None:
    """Half a request has its time, then its connection is closed; a hundred idle ones keep nobody waiting."""
    idle = [socket.create_connection(("127.0.0.1", service.port)) for _ in range(100)]
    head = b"POST /other/decide HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n" % service.port
    for sent in (head, head + b"Content-Type: application/json\r\nContent-Length: 20\r\n\r\n{"):
        with socket.create_connection(("127.0.0.1", service.port), timeout=5) as slow:
            slow.sendall(sent)
            assert ask(service, "GET", "/healthz")[0] == 200
            assert slow.recv(1000).startswith(b"HTTP/1.1 408")
    assert all(one.recv(1000).startswith(b"HTTP/1.1 408") for one in idle)
    for one in idle:
        one.close()


def test_too_many_connections(service: Server) -> None:
    """One that is too many is told so; when others are gone, there is room again."""
    many = [socket.create_connection(("127.0.0.1", service.port), timeout=5) for _ in range(LIMITS["connections"] + 1)]
    assert many[-1].recv(1000).startswith(b"HTTP/1.1 503")
    for one in many:
        one.close()
    assert _answers(service)


def _answers(server: Server) -> bool:
    """Whether the service answers within some seconds."""
    for _ in range(50):
        if ask(server, "GET", "/healthz")[0] == 200:
            return True
        time.sleep(0.1)
    return False


@pytest.mark.parametrize(
    "sent", [b"nonsense\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00", b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * 20_000]
)
def test_what_is_no_request(service: Server, sent: bytes) -> None:
    """Is refused, and the service goes on."""
    with socket.create_connection(("127.0.0.1", service.port), timeout=5) as connection:
        connection.sendall(sent)
        assert connection.recv(1000)[:12] in {b"HTTP/1.1 400", b"HTTP/1.1 431"}
    assert ask(service, "GET", "/healthz")[0] == 200


def test_no_more_decisions_than_the_horizon(tmp_path: Path) -> None:
    """The next one is gone for good, which a client does not ask again."""
    with serving(tmp_path, SHOP | {"horizon": 1}) as server, Client(server.url) as client:
        client.decide("one", at=1.0)
        began = time.monotonic()
        with pytest.raises(ServiceError, match="a larger horizon") as refused:
            client.decide("two", at=1.0)
        assert (refused.value.status, time.monotonic() - began < 1.0) == (410, True)
        assert ask(server, "POST", "/decide", {"key": "two", "at": 1.0})[1]["reason"] == "horizon"
        assert ask(server, "POST", "/decide", {"key": "one", "at": 2.0})[0] == 409


def test_a_rate(tmp_path: Path) -> None:
    """Beyond so many decisions and deliveries per second, requests are told to come again."""
    with serving(tmp_path, limits={"rate": 3.0}) as server:
        found = [ask(server, "POST", "/decide", {"key": f"k{n}", "at": 1.0})[0] for n in range(6)]
        assert (found[:3], 429 in found[3:]) == ([200] * 3, True)


def test_the_client(service: Server) -> None:
    """It decides and delivers by one connection, one value or several, and raises what is refused."""
    with Client(service.url, "shop", token=TOKEN) as client:
        decision = client.decide(at=100.0)
        assert client.decide(decision.key, at=100.0).repeated
        assert client.deliver(decision.token, 1.0, part=1, at=100.5).status == "credited"
        assert client.lost(decision.token, 2, at=101.0).status == "lost"
        assert client.close(decision.token, at=102.0).status == "closed"
        second = client.decide(at=103.0)
        sent = [
            Deliver(token=second.token, amount=1.0, key="p", part=1, at=103.0),
            Lost(token=second.token, part=9, at=103.0),
            Close(token=second.token, at=104.0),
        ]
        found = client.deliver_all(sent)
        assert [getattr(one, "status", None) or one.reason for one in found] == ["credited", "bad-value", "closed"]  # type: ignore[union-attr]
        with pytest.raises(ServiceError, match=r"404.*token") as refused:
            client.deliver("1-wrong", 1.0)
        assert refused.value.status == 404


def test_a_client_that_finds_nobody() -> None:
    """Says so in one line, and at once if it is no address."""
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    with pytest.raises(ServiceError, match="does not answer"):
        Client(f"http://127.0.0.1:{port}", retries=1).decide()
    for address in ("127.0.0.1:80", "ftp://a", "http://a:port"):
        with pytest.raises(ServiceError, match="address"):
            Client(address)


def test_a_client_asks_again(tmp_path: Path) -> None:
    """After a restart of the service it goes on with the same key, and gets the same decision."""
    with serving(tmp_path) as server, Client(server.url) as client:
        port, first = server.port, client.decide("offer", at=1.0)
    with serving(tmp_path, port=port), client:
        again = client.decide("offer", at=1.0)
    assert (again.arm, again.token, again.repeated) == (first.arm, first.token, True)


BAD = [
    ({}, "experiments: missing"),
    ({"experiments": []}, "must be 1 to"),
    ({"experiments": [SHOP], "prot": 1}, "prot: unknown key .did you mean 'port'"),
    ({"experiments": [SHOP], "port": 70_000}, "port: must be at most 65535, got 70000"),
    ({"experiments": [SHOP], "limits": {"body": 1}}, r"limits.body: must be at least 1000, got 1"),
    ({"experiments": [SHOP, SHOP]}, r"experiments\[1\].name: 'shop' is also that of experiments\[0\]"),
    ({"experiments": [SHOP | {"name": "My shop"}]}, "small letters, digits and hyphens"),
    ({"experiments": [SHOP | {"name": "decide"}]}, "choose another name"),
    ({"experiments": [SHOP | {"arms": []}]}, r"arms: must be 1 to"),
    ({"experiments": [SHOP | {"token_file": "a", "token_environment": "B"}]}, "leave out one"),
    ({"experiments": [SHOP | {"token_file": "short"}]}, "at least 16"),
    ({"experiments": [SHOP | {"token_file": "missing"}]}, "cannot read the token"),
    ({"experiments": [SHOP | {"token_environment": "TPSTREAM_NO_SUCH"}]}, "is not set"),
    ({"experiments": [SHOP], "host": "0.0.0.0"}, "has no token"),  # noqa: S104 (it is refused)
]


@pytest.mark.parametrize(("keys", "line"), BAD)
def test_bad_configurations(tmp_path: Path, keys: dict[str, Any], line: str) -> None:
    """Each mistake is a line with the key, the value and the remedy, and no secret is in it."""
    (tmp_path / "short").write_text("secret")
    with pytest.raises(ServiceError, match=line) as refused:
        ServiceConfig.parse(keys, tmp_path)
    assert "secret" not in str(refused.value)


def test_another_configuration_for_the_same_log(tmp_path: Path) -> None:
    """It is refused: the log was opened with something else."""
    with serving(tmp_path, SHOP | {"seed": 7}):
        pass
    with pytest.raises(DeciderError, match="seed is 7, got 8"), serving(tmp_path, SHOP | {"seed": 8}):
        pass


@pytest.mark.parametrize("address", ["127.0.0.1", "::1"])
def test_the_address_of_localhost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    """Is the one that the name stands for here, and answers; an unknown name is 404 where no token is needed."""
    find = socket.getaddrinfo

    def found(host: str, *words: Any, **options: Any) -> Any:
        return find(address if host == "localhost" else host, *words, **options)

    monkeypatch.setattr(socket, "getaddrinfo", found)
    if address == "::1" and not _has_ipv6():
        pytest.skip("this machine has no IPv6")
    with serving(tmp_path, host="localhost") as server:
        assert server.url == f"http://{'[::1]' if address == '::1' else address}:{server.port}"
        with Client(server.url) as client:
            assert client.decide("offer", at=1.0).key == "offer"
        with Client(server.url, "none") as client, pytest.raises(ServiceError, match="no such experiment") as refused:
            client.state()
        assert refused.value.status == 404


def _has_ipv6() -> bool:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        return False
    return True


def test_a_port_that_is_taken(tmp_path: Path) -> None:
    """Is one line."""
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(ServiceError, match="cannot be listened at"):
        Server(ServiceConfig.parse({"port": taken.getsockname()[1], "experiments": [SHOP]}, tmp_path))
