"""Bodies of requests as values: what is no JSON, and what says something wrong, are refused in different ways."""

import re
from http import HTTPStatus
from typing import Any

import msgspec
from starlette.types import Receive

from tpstream.serve.access import Headers
from tpstream.serve.requests import Close, Decide, Deliver, Lost
from tpstream.serve.responses import RefusedError

NAMED = re.compile(rb'"type"')
"""Occurs in a body whose requests say of what type they are."""
SAME_TYPE = msgspec.json.Decoder(Deliver | list[Deliver])
ANY_TYPE = msgspec.json.Decoder(Deliver | Lost | Close | list[Deliver | Lost | Close])
DECIDE = msgspec.json.Decoder(Decide)


class Switch(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All decisions are for one arm from now on; None: the policy decides again."""

    arm: str | None
    reason: str


SWITCH = msgspec.json.Decoder(Switch)


async def read_body(headers: Headers, receive: Receive, most: int) -> bytes:
    """The body of a request, if it is JSON by its headers, and has at most that many bytes."""
    kind = headers.get(b"content-type", b"")
    if kind.partition(b";")[0].strip().lower() != b"application/json":
        raise RefusedError(
            HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
            "the body is not said to be JSON",
            "send Content-Type: application/json",
        )
    length = headers.get(b"content-length", b"")
    if length.isdigit() and int(length) > most:
        raise _too_large(most)
    message = await receive()
    body: bytes = message.get("body", b"")
    while message.get("more_body", False):
        if len(body) > most:
            raise _too_large(most)
        message = await receive()
        body += message.get("body", b"")
    if message["type"] == "http.disconnect":
        raise RefusedError(HTTPStatus.BAD_REQUEST, "the body has no end", "send it whole", close=True)
    if len(body) > most:
        raise _too_large(most)
    return body


def _too_large(most: int) -> RefusedError:
    return RefusedError(
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"the body has more than {most:,} bytes", "send several requests"
    )


def decoded(decoder: Any, body: bytes) -> Any:
    """What a body says; a body that is no JSON is another error than one that says something wrong."""
    try:
        return decoder.decode(body)
    except msgspec.ValidationError as error:
        raise RefusedError(
            HTTPStatus.UNPROCESSABLE_ENTITY, _small(str(error)), "see /docs for the fields", reason="bad-value"
        ) from None
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise RefusedError(
            HTTPStatus.BAD_REQUEST,
            f"the body is not JSON: {_small(str(error))}",
            "send a JSON object",
            reason="no-json",
        ) from None


def deliveries(body: bytes) -> Any:
    """The deliveries, losses and closings of a body; where all are deliveries, they need not say so."""
    try:
        return SAME_TYPE.decode(body)
    except msgspec.ValidationError:
        if NAMED.search(body):
            return decoded(ANY_TYPE, body)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        pass
    return decoded(SAME_TYPE, body)


def _small(text: str) -> str:
    return f"{text[:1].lower()}{text[1:]}"
