"""Requests to a service that nobody expects: the right status, never 500, and a log that replays at the end.

A case is a number of requests to a service of its own. Some are as they should be, so that decisions are open; of the
others values, fields, bytes of the body or bytes of the whole request are changed.
"""

import json
import socket
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from mutations import changed_bytes, changed_tree, donors_of
from services import SHOP, TOKEN, serving

from tpstream import check_log, replay
from tpstream.cli.output import without_notes
from tpstream.serve.server import Server

Case = dict[str, Any]
MOST = 12
"""Requests of a case."""
LAST = "LAST-TOKEN"
"""Stands for the token of the last decision, which is known when the request is sent."""
GOOD: list[tuple[str, Any]] = [
    ("decide", {"key": "offer-1", "at": 3.0}),
    ("decide", {"key": "offer-2"}),
    ("deliver", {"token": LAST, "amount": 1.5, "key": "payment-1", "part": 1, "at": 3.5}),
    ("deliver", {"type": "lost", "token": LAST, "part": 2, "at": 4.0}),
    ("deliver", {"type": "close", "token": LAST, "key": "end"}),
    ("deliver", [{"token": LAST, "amount": 0.5, "key": "payment-2"}, {"token": "1-wrong", "amount": 1.0, "key": "p"}]),
    ("switch", {"arm": "new", "reason": "a test"}),
    ("switch", {"arm": None, "reason": "a test"}),
    ("state", None),
]
STATUSES = {200, 207, 400, 401, 403, 404, 405, 408, 409, 410, 413, 415, 422, 425, 431}
"""What may be answered; 500 is a fault, and so are others, since the disk is not full and nobody stops the service."""
LIMITS = {"body": 20_000, "items": 20, "seconds": 0.3}


@st.composite
def requests(draw: st.DrawFn) -> Case:
    """One request: path, body, and whether the request as a whole is changed."""
    path, body = draw(st.sampled_from(GOOD))
    way = draw(st.sampled_from(["good", "good", "tree", "tree", "bytes", "raw"]))
    if way == "tree" and body is not None:
        body = draw(
            changed_tree({"body": body}, donors_of([one for _, one in GOOD if isinstance(one, dict)]), (1, 2))
        ).get("body")
    content = b"" if body is None else json.dumps(body).encode("utf-8", "surrogatepass")
    if way == "bytes":
        content = draw(changed_bytes(content))
    method = "GET" if path == "state" else "POST"
    head = (
        f"{method} /{path} HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nAuthorization: Bearer {TOKEN}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n"
    )
    sent = head.encode() + content
    return {"sent": draw(changed_bytes(sent)) if way == "raw" else sent}


def cases() -> st.SearchStrategy[Case]:
    """Some requests, one after the other."""
    return st.lists(requests(), min_size=2, max_size=MOST).map(
        lambda found: {str(number): one for number, one in enumerate(found)}
    )


def check(case: Case) -> str | None:
    """What is bad about an answer, or about the log at the end."""
    with tempfile.TemporaryDirectory() as place, without_notes():
        folder = Path(place)
        (folder / "token").write_text(TOKEN)
        with serving(folder, SHOP | {"token_file": "token"}, limits=LIMITS) as server:
            last, fault = "1-none", None
            for number in sorted(case, key=int):
                status, content = answer(server, case[number]["sent"], last)
                fault = fault or bad(status, content)
                if status == 200 and isinstance(content, dict) and "arm" in content and "token" in content:
                    last = content["token"]
            fault = fault or ("no answer at the end" if _healthy(server) != 200 else None)
        log = folder / "logs" / "shop" / "shop.jsonl"
        if fault is None and not check_log(log).sound:
            fault = "the log breaks a rule"
        return fault or (None if replay(log).equal else "the log does not replay")


def bad(status: int, content: Any) -> str | None:
    """What is bad about one answer."""
    if status == 0:
        return None  # the connection was closed: what was sent is no request, or its end did not come
    if status not in STATUSES:
        return f"status {status}"
    if status >= 400 and not (isinstance(content, dict) and {"error", "remedy"} <= content.keys()):
        return f"status {status} without a remedy"
    return None


def answer(server: Server, sent: bytes, last: str) -> tuple[int, Any]:
    """Status and content of the first answer on a connection of its own; 0 if there is none."""
    known = LAST.encode()
    difference = (len(last) - len(known)) * sent.count(known)
    head, end, body = sent.partition(b"\r\n\r\n")
    if difference and end:
        length = b"Content-Length: %d" % len(body)
        head = head.replace(length, b"Content-Length: %d" % (len(body) + difference))
    whole = (head + end + body).replace(known, last.encode()).replace(b":PORT", b":%d" % server.port)
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as connection:
        received = b""
        try:
            connection.sendall(whole)
            while not _complete(received):
                data = connection.recv(65_536)
                if not data:
                    break
                received += data
        except ConnectionError:
            pass
    status = received[9:12]
    head, _, body = received.partition(b"\r\n\r\n")
    length = _length(head)
    try:
        content = json.loads(body[:length])  # two requests may have been sent, and have two answers
    except ValueError:
        content = None
    return int(status) if status.isdigit() else 0, content


def _complete(received: bytes) -> bool:
    """Whether a whole answer is there."""
    head, end, body = received.partition(b"\r\n\r\n")
    return bool(end) and len(body) >= (_length(head) or 0)


def _length(head: bytes) -> int | None:
    """The length of an answer's body that its head tells."""
    told = head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]
    return int(told) if told.isdigit() else None


def _healthy(server: Server) -> int:
    return answer(server, b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\n\r\n", "")[0]
