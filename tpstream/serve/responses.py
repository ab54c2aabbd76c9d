"""What the service answers: statuses, JSON, and for every refusal what is wrong and what to do."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

import msgspec
from starlette.types import Send

from tpstream.serve.requests import Decision, Receipt, Refusal, Reply
from tpstream.view.live import SAFE

STATUS: Mapping[str, HTTPStatus] = {
    "conflict": HTTPStatus.CONFLICT,
    "unknown-token": HTTPStatus.NOT_FOUND,
    "closed": HTTPStatus.GONE,
    "too-early": HTTPStatus.TOO_EARLY,
    "bad-value": HTTPStatus.UNPROCESSABLE_ENTITY,
    "time": HTTPStatus.UNPROCESSABLE_ENTITY,
    "horizon": HTTPStatus.GONE,
}
"""The status of a refusal, by its reason."""
REMEDIES: Mapping[str, str] = {
    "conflict": "use another key for something else, or send the same content again",
    "unknown-token": "send the token that the decision was answered with",
    "closed": "nothing; the decision does not pay any more",
    "too-early": "send it when its time has come",
    "bad-value": "correct the value",
    "time": "send a time that does not go back",
    "horizon": "nothing; begin another experiment with a larger horizon",
}
"""What to do about a refusal, by its reason."""
RETRY = {HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE, HTTPStatus.INSUFFICIENT_STORAGE}
"""Statuses after which the same request may be sent again, after a second."""
JSON = "application/json"
_OF_PAGES = [(name.lower().encode(), value.encode()) for name, value in SAFE.items()]
_OF_JSON = [
    (b"content-type", JSON.encode()),
    *(one for one in _OF_PAGES if one[0] in {b"cache-control", b"x-content-type-options"}),
]
"""Headers of answers; those about pages would only take time elsewhere."""
encode = msgspec.json.Encoder().encode


class RefusedError(Exception):
    """A request is refused: the status, what is wrong, and what to do."""

    def __init__(self, status: HTTPStatus, error: str, remedy: str, *, reason: str = "", close: bool = False) -> None:
        super().__init__(error)
        self.status, self.close = status, close
        self.fields = {"error": error, "reason": reason or status.phrase.lower().replace(" ", "-"), "remedy": remedy}


def reply_fields(reply: Reply) -> tuple[HTTPStatus, Any]:
    """The status of one answer, and what its JSON is made of."""
    match reply:
        case Decision() | Receipt():
            return HTTPStatus.OK, reply
        case Refusal():
            fields = {"error": reply.message, "reason": reply.reason, "remedy": REMEDIES[reply.reason]}
            return STATUS[reply.reason], fields


def one_answer(reply: Reply) -> tuple[HTTPStatus, bytes]:
    """The answer to a single request."""
    status, fields = reply_fields(reply)
    return status, encode(fields)


def many_answers(replies: list[Reply]) -> tuple[HTTPStatus, bytes]:
    """The answer to several requests: a list, with a status of its own in each refusal; 207 if there is one."""
    found, refused = [], False
    for reply in replies:
        status, fields = reply_fields(reply)
        refused |= status is not HTTPStatus.OK
        found.append(fields if status is HTTPStatus.OK else {"code": int(status), **fields})
    return HTTPStatus.MULTI_STATUS if refused else HTTPStatus.OK, encode(found)


async def respond(
    send: Send, status: HTTPStatus, body: bytes, kind: str = JSON, headers: Mapping[str, str] | None = None
) -> HTTPStatus:
    """Send an answer that is whole; returns its status."""
    own = [(name.encode(), value.encode()) for name, value in headers.items()] if headers else ()
    usual = _OF_JSON if kind is JSON else [(b"content-type", kind.encode()), *_OF_PAGES]
    lines = [(b"content-length", b"%d" % len(body)), *usual, *own]
    await send({"type": "http.response.start", "status": int(status), "headers": lines})
    await send({"type": "http.response.body", "body": body})
    return status


async def refuse(send: Send, refused: RefusedError) -> None:
    """Send a refusal."""
    headers = {"retry-after": "1"} if refused.status in RETRY else {}
    if refused.status is HTTPStatus.UNAUTHORIZED:
        headers["www-authenticate"] = "Bearer"
    if refused.close:
        headers["connection"] = "close"
    await respond(send, refused.status, encode(refused.fields), headers=headers)
