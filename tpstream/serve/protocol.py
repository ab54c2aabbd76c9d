"""Connections: what of them is limited before there is a request, in uvicorn's protocol for httptools.

uvicorn waits for ever for the rest of a request, and keeps as many headers as are sent. Here they have a time and a
size, and connections that are too many are told so and closed.
"""

import asyncio
from typing import Any, ClassVar

import msgspec
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

LARGEST_HEADERS = 65_536
"""Bytes of the headers of a request, and at least those that arrive with them."""


class LimitedProtocol(HttpToolsProtocol):
    """One connection; `of` makes the class with its limits."""

    seconds: ClassVar[float]
    """In which a request must have arrived, from its first byte or the beginning of the connection on."""
    most: ClassVar[int]
    """Connections at one time."""

    @classmethod
    def of(cls, seconds: float, most: int) -> type["LimitedProtocol"]:
        """The class with these limits."""
        return type("Connection", (cls,), {"seconds": seconds, "most": most})

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        self._patience: asyncio.TimerHandle | None = None
        self._heading = self._arriving = False
        self._unread = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take a connection, unless there are too many."""
        super().connection_made(transport)
        if len(self.connections) > self.most:
            self._refuse(503, "there are too many connections", "close those that are not used, or ask again later")
        else:
            self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._end_wait()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take what arrived; a request of which more must come has its time, and its headers have their size."""
        if self.transport.is_closing():
            return
        super().data_received(data)
        if not self._arriving:
            self._end_wait()
            return
        self._wait()
        if self._heading:
            self._unread += len(data)
            if self._unread > LARGEST_HEADERS and not self.transport.is_closing():
                self._refuse(431, "the headers are too long", f"send at most {LARGEST_HEADERS:,} bytes")

    def on_message_begin(self) -> None:
        """Begin to read a request."""
        self._heading, self._arriving, self._unread = True, True, 0
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Start a request."""
        self._heading = False
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Note that nothing of the request is missing."""
        self._arriving = False
        super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is not HTTP."""
        self._refuse(400, msg.removesuffix("."), "send requests as HTTP/1.1")

    def _wait(self) -> None:
        """Close the connection unless a whole request arrives soon."""
        if self._patience is None:
            self._patience = self.loop.call_later(self.seconds, self._give_up)

    def _end_wait(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None

    def _give_up(self) -> None:
        if not self.transport.is_closing():
            self._refuse(408, "the request did not arrive in time", "send it at once")

    def _refuse(self, status: int, why: str, remedy: str) -> None:
        """Answer in place of the application, and close the connection."""
        body = msgspec.json.encode({"error": why, "remedy": remedy})
        phrase = {
            400: "Bad Request",
            408: "Request Timeout",
            431: "Request Header Fields Too Large",
            503: "Service Unavailable",
        }[status]
        head = (
            f"HTTP/1.1 {status} {phrase}\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n"
            "connection: close\r\n\r\n"
        )
        self.transport.write(head.encode() + body)
        self.transport.close()
