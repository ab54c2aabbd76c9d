"""A client of the service for Python programs: keys, retries, one connection that is kept."""

import random
import time
import uuid
from collections.abc import Sequence
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar
from urllib.parse import urlsplit

import msgspec

from tpstream.model.errors import ServiceError
from tpstream.serve.config import read_token
from tpstream.serve.requests import Close, Decide, Decision, Deliver, Lost, Receipt, Refusal

AGAIN = {429, 503, 507}
"""Statuses after which the same request is sent again."""
FIRST_PAUSE, LONGEST_PAUSE = 0.05, 5.0
"""Seconds before a request is sent again: the first time, and at most; they double."""
Delivery = Deliver | Lost | Close
T = TypeVar("T")


class Client:
    """Asks one experiment of a service for decisions, and delivers what they paid.

    A request that is not answered, or answered with "ask again later", is sent again. That is safe: it has a key, by
    which the service knows it again. A client is for one thread.

    Parameters
    ----------
    url : str
        The address of the service, such as `http://127.0.0.1:8787`.
    experiment : str, optional
        The name of the experiment; it may be left out if the service has a single one.
    token : str, optional
        The token of the experiment.
    token_file : str or Path, optional
        The file that holds the token.
    timeout : float
        Seconds to wait for an answer.
    retries : int
        How often a request is sent again.

    Raises
    ------
    ServiceError
        If the service cannot be reached or refuses a request; `status` is then that of HTTP.

    Examples
    --------
    >>> with Client("http://127.0.0.1:8787", "shop") as client:
    ...     client.url
    'http://127.0.0.1:8787/shop'
    """

    def __init__(
        self,
        url: str,
        experiment: str | None = None,
        *,
        token: str | None = None,
        token_file: str | Path | None = None,
        timeout: float = 10.0,
        retries: int = 5,
    ) -> None:
        parts = urlsplit(url)
        try:
            host, port = parts.hostname, parts.port
        except ValueError as error:
            raise ServiceError(f"{url}: is no address: {error}; write http://HOST:PORT") from None
        if parts.scheme not in {"http", "https"} or not host:
            raise ServiceError(f"{url}: is no address of a service; write http://HOST:PORT")
        prefix = parts.path.rstrip("/") + (f"/{experiment}" if experiment else "")
        self.url = f"{parts.scheme}://{parts.netloc}{prefix}"
        self._prefix, self._retries = prefix, retries
        kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        self._connection: HTTPConnection = kind(host, port, timeout=timeout)
        token = read_token(Path(token_file)) if token_file is not None else token
        self._headers = {"Content-Type": "application/json"}
        if token is not None:
            self._headers["Authorization"] = f"Bearer {token}"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the connection."""
        self._connection.close()

    def decide(self, key: str | None = None, *, at: float | None = None) -> Decision:
        """A decision; the same key gets the same one. By default the key is a new one."""
        request = Decide(key=key or uuid.uuid4().hex, at=at)
        return self._post("decide", request, Decision)

    def deliver(
        self, token: str, amount: float, key: str | None = None, *, part: int | None = None, at: float | None = None
    ) -> Receipt:
        """Deliver what a decision paid. A key that names the payment is better than a new one: it is known again."""
        request = Deliver(token=token, amount=amount, key=key or uuid.uuid4().hex, part=part, at=at)
        return self._post("deliver", request, Receipt)

    def lost(self, token: str, part: int, *, at: float | None = None) -> Receipt:
        """Say that a part of a decision never comes."""
        return self._post("deliver", Lost(token=token, part=part, at=at), Receipt)

    def close(self, token: str, *, at: float | None = None) -> Receipt:
        """Say that a decision pays nothing any more."""
        return self._post("deliver", Close(token=token, at=at), Receipt)

    def deliver_all(self, deliveries: Sequence[Delivery]) -> list[Receipt | Refusal]:
        """Deliver several values at once, in order; each has an answer, refused ones a refusal."""
        found = self._post("deliver", list(deliveries), list[dict[str, Any]])
        return [
            Refusal(reason=one["reason"], message=one["error"]) if "error" in one else msgspec.convert(one, Receipt)
            for one in found
        ]

    def state(self) -> dict[str, Any]:
        """The numbers of the experiment."""
        return self._ask("GET", "state", b"", dict[str, Any])

    def _post(self, path: str, content: Any, kind: type[T]) -> T:
        return self._ask("POST", path, msgspec.json.encode(content), kind)

    def _ask(self, method: str, path: str, body: bytes, kind: type[T]) -> T:
        """The answer to a request, which is sent again if need be."""
        pause = FIRST_PAUSE
        for attempt in range(self._retries + 1):
            last = attempt == self._retries
            try:
                status, wait, answer = self._send(method, path, body)
            except (OSError, HTTPException) as error:
                self._connection.close()
                if last:
                    reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
                    raise ServiceError(f"{self.url}: does not answer: {reason}; see whether it runs") from error
                wait = 0.0
            else:
                if status < 300:  # noqa: PLR2004 (what HTTP calls success)
                    return _decoded(self.url, answer, kind)
                if status not in AGAIN or last:
                    raise _refused(self.url, status, answer)
            time.sleep(max(wait, pause * random.uniform(0.5, 1.0)))  # noqa: S311 (so that clients do not ask at once)
            pause = min(2 * pause, LONGEST_PAUSE)
        raise AssertionError  # the last attempt returned or raised

    def _send(self, method: str, path: str, body: bytes) -> tuple[int, float, bytes]:
        """Status, seconds to wait, and body of an answer."""
        self._connection.request(method, f"{self._prefix}/{path}", body, self._headers)
        answer: HTTPResponse = self._connection.getresponse()
        wait = answer.headers.get("Retry-After", "")
        return answer.status, float(wait) if wait.isdigit() else 0.0, answer.read()


def _decoded(url: str, answer: bytes, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(answer, type=kind)
    except msgspec.MsgspecError as error:
        raise ServiceError(f"{url}: answers something else: {error}; see whether it is tpstream") from None


def _refused(url: str, status: int, answer: bytes) -> ServiceError:
    """The error of a refusal."""
    try:
        fields = msgspec.json.decode(answer, type=dict[str, Any])
        text = f"{fields['error']}; {fields['remedy']}"
    except (msgspec.MsgspecError, KeyError):
        text = "see whether it is tpstream"
    return ServiceError(f"{url}: {status}: {text}", status=status)
