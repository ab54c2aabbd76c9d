"""The service: which path does what, as an ASGI application with the routes of Starlette."""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import partial
from http import HTTPStatus
from typing import Any, NamedTuple
from urllib.parse import parse_qs

from starlette.routing import BaseRoute, Route, Router
from starlette.types import Receive, Scope, Send
from structlog.typing import FilteringBoundLogger

from tpstream.model.errors import DeciderError, TpstreamError
from tpstream.serve.access import Door, Headers, Hosts
from tpstream.serve.bodies import DECIDE, SWITCH, decoded, deliveries, read_body
from tpstream.serve.config import Limits
from tpstream.serve.metrics import CONTENT_TYPE, exposition
from tpstream.serve.openapi import api_page, openapi
from tpstream.serve.requests import Reply, Request
from tpstream.serve.responses import RefusedError, encode, many_answers, one_answer, refuse, respond
from tpstream.serve.served import Served, decider_facts
from tpstream.serve.worker import BusyError, StoppingError
from tpstream.view.live import live_html

HTML = "text/html; charset=utf-8"


Action = Callable[[Served, "Call"], Awaitable[HTTPStatus]]
Answer = Callable[[Scope, Receive, Send], Awaitable[None]]


class Call(NamedTuple):
    """One HTTP request that was let in."""

    scope: Scope
    receive: Receive
    send: Send
    headers: Headers


class Service:
    """Answers HTTP requests for some experiments.

    Parameters
    ----------
    experiments
        The experiments; with a single one, its paths may leave out its name.
    limits
        What callers may ask for.
    hosts
        The names under which the service may be asked.
    log
        Is told of every request, at the level "debug".
    """

    def __init__(self, experiments: Iterable[Served], limits: Limits, hosts: Hosts, log: FilteringBoundLogger) -> None:
        self.experiments = {one.name: one for one in experiments}
        self._limits, self._hosts, self._log = limits, hosts, log
        self.stopping = False
        self._html = ""

    def stop(self) -> None:
        """Take no more requests, and tell the browsers."""
        self.stopping = True
        for one in self.experiments.values():
            one.page.end()

    def app(self) -> Router:
        """The application."""
        actions: list[tuple[str, str, Action, Callable[[Door, Headers], bool] | None]] = [
            ("POST", "decide", self._decide, Door.admits),
            ("POST", "deliver", self._deliver, Door.admits),
            ("POST", "switch", self._switch, Door.admits),
            ("GET", "state", self._state, Door.shows),
            ("GET", "events", self._events, Door.shows),
            ("GET", "", self._page, None),
        ]
        short, named = [], []
        for method, path, action, opens in actions:
            endpoint = self._endpoint(method, partial(self._enter, path or "page", action, opens))
            short.append(Route(f"/{path}", endpoint))
            named.append(Route(f"/{{experiment}}/{path}", endpoint))
        routes: list[BaseRoute] = [*(short if len(self.experiments) == 1 else []), *named]
        routes.append(Route("/healthz", self._endpoint("GET", self._health)))
        for path, ask in (("metrics", self._metrics), ("openapi.json", self._openapi), ("docs", self._docs)):
            routes.append(Route(f"/{path}", self._endpoint("GET", partial(self._general, ask))))
        routes.append(Route("/{experiment}", self._endpoint("GET", self._to_page)))
        return Router(routes, redirect_slashes=False, default=self._endpoint("", _no_path))

    def _endpoint(self, method: str, answer: Answer) -> "_Endpoint":
        return _Endpoint(method, answer, self._log)

    async def _health(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002 (as ASGI has it)
        """Whether requests are answered; the one path that needs no token."""
        fine = not self.stopping and all(one.worker.alive for one in self.experiments.values())
        body = encode({"status": "ok" if fine else "stopping"})
        await respond(send, HTTPStatus.OK if fine else HTTPStatus.SERVICE_UNAVAILABLE, body)

    async def _to_page(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002 (as ASGI has it)
        """Lead whoever may look to the page of an experiment, whose address ends in a slash."""
        headers = self._meant(scope)
        experiment = self._experiment(scope)
        if not (experiment.door.shows(headers) or experiment.door.opens_to(_token_in_address(scope))):
            raise _no_token()
        query = scope["query_string"].decode("latin-1")
        place = f"/{experiment.name}/{f'?{query}' if query else ''}"
        await respond(send, HTTPStatus.SEE_OTHER, b"", HTML, {"location": place})

    async def _general(
        self, ask: Callable[[list[Served]], Awaitable[tuple[bytes, str]]], scope: Scope, receive: Receive, send: Send
    ) -> None:
        """Answer something about all experiments that the token of a request opens."""
        headers = self._meant(scope)
        call = Call(scope, receive, send, headers)
        found = [one for one in self.experiments.values() if one.door.shows(headers)]
        if not found:
            raise _no_token()
        body, kind = await ask(found)
        await respond(call.send, HTTPStatus.OK, body, kind)

    async def _enter(
        self,
        path: str,
        action: Action,
        opens: Callable[[Door, Headers], bool] | None,
        scope: Scope,
        receive: Receive,
        send: Send,
    ) -> None:
        """Do something for an experiment, if the request may ask for it; count the answer."""
        began = time.perf_counter()
        headers = self._meant(scope)
        experiment = self._experiment(scope)
        status = HTTPStatus.INTERNAL_SERVER_ERROR
        try:
            if opens is not None and not opens(experiment.door, headers):
                raise _no_token()
            if self.stopping:
                raise _stopping()
            status = await action(experiment, Call(scope, receive, send, headers))
        except RefusedError as refused:
            status = refused.status
            raise
        finally:
            seconds = time.perf_counter() - began
            experiment.metrics.answered(path, status, None if path == "events" else seconds)
            self._log.debug("answered", experiment=experiment.name, path=path, status=int(status), seconds=seconds)

    def _meant(self, scope: Scope) -> Headers:
        """The headers of a request that was meant for this service, and does not come from another page."""
        headers = dict(scope["headers"])
        if not self._hosts.knows(headers):
            raise RefusedError(
                HTTPStatus.FORBIDDEN,
                "this service is not known under that name",
                "ask at the address that it printed, or add the name to `hosts` in its configuration",
            )
        if not self._hosts.same_origin(headers):
            raise RefusedError(HTTPStatus.FORBIDDEN, "another page may not ask", "ask from a program")
        return headers

    def _experiment(self, scope: Scope) -> Served:
        """The experiment that a path names; where there are tokens, nobody without one learns which there are."""
        name = scope.get("path_params", {}).get("experiment")
        if name is None:
            return next(iter(self.experiments.values()))
        if name not in self.experiments:
            if not all(one.door.open for one in self.experiments.values()):
                raise _no_token()
            raise RefusedError(HTTPStatus.NOT_FOUND, "there is no such experiment", "see the configuration")
        return self.experiments[name]

    async def _decide(self, experiment: Served, call: Call) -> HTTPStatus:
        request = decoded(DECIDE, await read_body(call.headers, call.receive, self._limits.body))
        replies = await self._ask(experiment, [request])
        return await respond(call.send, *one_answer(replies[0]))

    async def _deliver(self, experiment: Served, call: Call) -> HTTPStatus:
        body = await read_body(call.headers, call.receive, self._limits.body)
        found = deliveries(body)
        if not isinstance(found, list):
            replies = await self._ask(experiment, [found])
            return await respond(call.send, *one_answer(replies[0]))
        if len(found) > self._limits.items:
            raise RefusedError(
                HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
                f"{len(found):,} deliveries in one request, and at most {self._limits.items:,} are taken",
                "send several requests",
            )
        replies = await self._ask(experiment, found) if found else []
        return await respond(call.send, *many_answers(replies))

    async def _switch(self, experiment: Served, call: Call) -> HTTPStatus:
        found = decoded(SWITCH, await read_body(call.headers, call.receive, self._limits.body))
        try:
            await self._waited(
                experiment.worker.call(partial(experiment.decider.switch, found.arm, reason=found.reason))
            )
        except TpstreamError as error:
            raise RefusedError(HTTPStatus.UNPROCESSABLE_ENTITY, str(error), "name an arm, or null") from None
        self._log.info("switched", experiment=experiment.name, arm=found.arm, reason=found.reason)
        return await respond(call.send, HTTPStatus.OK, encode({"arm": found.arm}))

    async def _state(self, experiment: Served, call: Call) -> HTTPStatus:
        state = await self._waited(experiment.worker.call(experiment.decider.state))
        facts = decider_facts(experiment.decider.header)
        return await respond(
            call.send, HTTPStatus.OK, encode({**state, "waiting": experiment.worker.waiting, "settings": facts})
        )

    async def _page(self, experiment: Served, call: Call) -> HTTPStatus:
        """The live page; the token of its address goes into a cookie, and away from the address."""
        given, door = _token_in_address(call.scope), experiment.door
        if given and not door.open:
            if not door.opens_to(given):
                raise _no_token()
            cookie = f"{door.cookie_name}={door.cookie}; Path=/; HttpOnly; SameSite=Strict"
            headers = {"set-cookie": cookie, "location": call.scope["path"]}
            return await respond(call.send, HTTPStatus.SEE_OTHER, b"", HTML, headers)
        if not door.shows(call.headers):
            raise _no_token()
        self._html = self._html or live_html()
        return await respond(call.send, HTTPStatus.OK, self._html.encode(), HTML)

    async def _events(self, experiment: Served, call: Call) -> HTTPStatus:
        """The stream of what the page shows."""
        if experiment.page.full:
            raise RefusedError(HTTPStatus.SERVICE_UNAVAILABLE, "too many browsers look", "close another page")
        headers = [(b"content-type", b"text/event-stream"), (b"cache-control", b"no-store")]
        await call.send({"type": "http.response.start", "status": 200, "headers": headers})
        gone = asyncio.ensure_future(_disconnected(call.receive))
        stream = experiment.page.events()
        try:
            async for told in stream:
                if gone.done():
                    break
                await call.send({"type": "http.response.body", "body": told, "more_body": True})
            else:
                await call.send({"type": "http.response.body", "body": b""})
        finally:
            gone.cancel()
            await stream.aclose()  # type: ignore[attr-defined]
        return HTTPStatus.OK

    async def _metrics(self, experiments: list[Served]) -> tuple[bytes, str]:
        rows = {}
        for one in experiments:
            state = await self._waited(one.worker.call(one.decider.state))
            rows[one.name] = (one.metrics, one.worker.waiting, state)
        return exposition(rows).encode(), CONTENT_TYPE

    async def _openapi(self, experiments: list[Served]) -> tuple[bytes, str]:  # noqa: ARG002 (as its siblings)
        return json.dumps(openapi(), indent=1).encode(), "application/json"

    async def _docs(self, experiments: list[Served]) -> tuple[bytes, str]:  # noqa: ARG002 (as its siblings)
        return api_page().encode(), HTML

    async def _ask(self, experiment: Served, requests: Sequence[Request]) -> list[Reply]:
        """Hand requests to the decider, and wait for its answers."""
        if not experiment.rate.allows(len(requests), time.monotonic()):
            raise RefusedError(HTTPStatus.TOO_MANY_REQUESTS, "too many requests per second", "ask again later")
        try:
            replies: list[Reply] = await self._waited(experiment.worker.ask(requests))
        except DeciderError as error:
            if error.reason == "full":
                remedy = "make room on the disk, then send it again"
                raise RefusedError(HTTPStatus.INSUFFICIENT_STORAGE, str(error), remedy, reason="full") from None
            remedy = "see the log of the service"
            reason = error.reason or "failed"
            raise RefusedError(HTTPStatus.SERVICE_UNAVAILABLE, str(error), remedy, reason=reason) from None
        return replies

    async def _waited(self, answer: Awaitable[Any]) -> Any:
        """What a worker answers."""
        try:
            return await answer
        except BusyError:
            raise RefusedError(
                HTTPStatus.SERVICE_UNAVAILABLE, "too many requests wait", "ask again later", reason="busy"
            ) from None
        except StoppingError:
            raise _stopping() from None


class _Endpoint:
    """An ASGI application for one method that sends what is refused, and what fails, as JSON."""

    def __init__(self, method: str, answer: Answer, log: FilteringBoundLogger) -> None:
        self._method, self._answer, self._log = method, answer, log

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        try:
            await self._checked(scope, receive, send)
        except RefusedError as refused:
            await refuse(send, refused)
        except Exception as error:  # noqa: BLE001 (whoever asks is told, and others can go on)
            self._log.error("a request failed", reason=f"{type(error).__name__}: {error}", exc_info=True)
            await refuse(
                send,
                RefusedError(HTTPStatus.INTERNAL_SERVER_ERROR, "the service failed", "see its log, and report it"),
            )

    async def _checked(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._method and scope["method"] != self._method:
            raise RefusedError(HTTPStatus.METHOD_NOT_ALLOWED, "this path takes another method", f"use {self._method}")
        await self._answer(scope, receive, send)


async def _disconnected(receive: Receive) -> None:
    """Wait until whoever asked is gone."""
    while (await receive())["type"] != "http.disconnect":
        pass


def _token_in_address(scope: Scope) -> bytes:
    """The token in the address of a page; nothing if there is none."""
    query: str = scope["query_string"].decode("latin-1")
    return parse_qs(query).get("token", [""])[0].encode()


def _no_token() -> RefusedError:
    return RefusedError(
        HTTPStatus.UNAUTHORIZED,
        "the token is missing or wrong, or there is no such experiment",
        "send the header Authorization: Bearer TOKEN",
    )


def _stopping() -> RefusedError:
    return RefusedError(
        HTTPStatus.SERVICE_UNAVAILABLE, "the service is stopping", "ask again later", reason="stopping", close=True
    )


async def _no_path(scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG001 (as ASGI has it)
    raise RefusedError(HTTPStatus.NOT_FOUND, "there is no such path", "see /docs for the paths")
