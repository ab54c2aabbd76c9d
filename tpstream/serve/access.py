"""Who may ask: tokens, the cookie of the page, the names of the host, where a request comes from, and how often."""

import hashlib
import hmac
from collections.abc import Collection, Mapping
from http.cookies import CookieError, SimpleCookie

COOKIE = "tpstream"
Headers = Mapping[bytes, bytes]


class Door:
    """Decides who may use one experiment.

    A token is compared in constant time. The page of a browser has a cookie that is made of the token, and with which
    it can look but change nothing.
    """

    def __init__(self, name: str, token: str | None) -> None:
        self._token = None if token is None else token.encode()
        self.cookie_name = f"{COOKIE}-{name}"
        self.cookie = "" if token is None else hmac.new(token.encode(), name.encode(), hashlib.sha256).hexdigest()

    @property
    def open(self) -> bool:
        """Whether no token is needed."""
        return self._token is None

    def opens_to(self, token: bytes) -> bool:
        """Whether that is the token."""
        return self._token is None or hmac.compare_digest(token, self._token)

    def admits(self, headers: Headers) -> bool:
        """Whether a request has the token."""
        if self._token is None:
            return True
        kind, _, token = headers.get(b"authorization", b"").partition(b" ")
        return kind.lower() == b"bearer" and hmac.compare_digest(token.strip(), self._token)

    def shows(self, headers: Headers) -> bool:
        """Whether a request has the token, or the cookie of the page: it may look."""
        if self.admits(headers):
            return True
        try:
            cookies = SimpleCookie(headers.get(b"cookie", b"").decode("latin-1"))
        except CookieError:
            return False
        found = cookies.get(self.cookie_name)
        return found is not None and hmac.compare_digest(found.value.encode(), self.cookie.encode())


class Rate:
    """How often something may happen: so many times per second, and as many at once."""

    def __init__(self, per_second: float) -> None:
        self._per_second = per_second
        self._left = max(per_second, 1.0)
        self._seen = 0.0

    def allows(self, number: int, now: float) -> bool:
        """Whether that many more may happen now, which is a time in seconds; then they are counted."""
        most = max(self._per_second, 1.0)
        self._left = min(most, self._left + (now - self._seen) * self._per_second)
        self._seen = now
        if self._left < min(number, most):
            return False
        self._left -= number
        return True


class Hosts:
    """The names under which the service may be asked, and the pages from which browsers may ask it.

    On the loopback address a page of another site could ask in the name of a browser's user, also under a name of its
    own that leads to this machine; so other names are refused there. Elsewhere they are if names are configured.
    """

    def __init__(self, names: Collection[str], port: int, *, loopback: bool) -> None:
        own = {"127.0.0.1", "localhost", "[::1]"} if loopback else set()
        with_port = {f"{name}:{port}" for name in own}
        self._known = {one.lower().encode() for one in {*with_port, *names}}

    def knows(self, headers: Headers) -> bool:
        """Whether a request was meant for this service."""
        return not self._known or headers.get(b"host", b"").lower() in self._known

    @staticmethod
    def same_origin(headers: Headers) -> bool:
        """Whether a request comes from no page, or from one of this service."""
        origin = headers.get(b"origin")
        return origin is None or origin.lower().partition(b"://")[2] == headers.get(b"host", b"").lower()
