"""The API in the words of OpenAPI, made from the values that are sent, and the same as a page."""

from functools import cache
from typing import Any

import msgspec

from tpstream.model.notes import own_version
from tpstream.serve.requests import Close, Decide, Decision, Deliver, Lost, Receipt
from tpstream.view.pages import make_page

EXAMPLE = "1-2f6c"
REFUSALS = {
    "400": "the body is not JSON",
    "401": "the token is missing or wrong, or there is no such experiment",
    "403": "the host is not known, or a page of another site asks",
    "404": "no decision has this token, or there is no such path",
    "405": "the path takes another method",
    "408": "the request did not arrive in time",
    "409": "the key was used for something else",
    "410": "the decision is closed, or the experiment has all its decisions",
    "413": "the body is too large, or has too many deliveries",
    "415": "the body is not said to be JSON",
    "422": "a value or a field is wrong",
    "425": "it is from before the decision",
    "429": "too many requests per second",
    "431": "the headers are too long",
    "503": "the service is stopping, too many requests wait, or the disk cannot be written",
    "507": "the disk is full: nothing was written, and the same request can be sent again",
}
"""What a status means, for every path that changes something."""


SOME_REFUSED = (
    "of a list, some were refused: each has an answer of its own, in order, and these have their status as code"
)
SHOWN = ("401", "403", "405", "408", "431")
"""What can be refused of a request that changes nothing."""


class Error(msgspec.Struct, kw_only=True):
    """Every refusal."""

    error: str
    reason: str
    remedy: str
    code: int | None = None
    """The status of this one, in an answer to several."""


@cache
def openapi() -> dict[str, Any]:
    """The description, as a tree for JSON."""
    kinds = (Decide, Deliver, Lost, Close, Decision, Receipt, Error)
    references, components = msgspec.json.schema_components(kinds, ref_template="#/components/schemas/{name}")
    for kind in (Decide, Deliver):  # where nothing else is meant, they need not say what they are
        components[kind.__name__]["required"].remove("type")
    of = dict(zip((kind.__name__ for kind in kinds), references, strict=True))
    delivery = {"oneOf": [of["Deliver"], of["Lost"], of["Close"]]}
    answer = {"oneOf": [of["Receipt"], of["Error"]]}
    paths = {
        "/{experiment}/decide": _post(
            "Decide", of["Decide"], of["Decision"], {"key": "offer-4711"}, of["Error"], "The decision, on the disk."
        ),
        "/{experiment}/deliver": _post(
            "Deliver what a decision paid, say that a part is lost, or close a decision: one, or a list of them",
            {"oneOf": [delivery, {"type": "array", "items": delivery}]},
            {"oneOf": [of["Receipt"], {"type": "array", "items": answer}]},
            {"token": EXAMPLE, "amount": 12.5, "key": "payment-88"},
            of["Error"],
            "What became of it, on the disk; for a list, of all of them.",
        ),
        "/{experiment}/switch": _post(
            "Take one arm for all decisions, or let the policy decide again (null)",
            {
                "type": "object",
                "required": ["arm", "reason"],
                "properties": {"arm": {"type": ["string", "null"]}, "reason": {"type": "string"}},
            },
            {"type": "object"},
            {"arm": "A", "reason": "B sends wrong prices"},
            of["Error"],
            "It holds from now on.",
        ),
        "/{experiment}/state": _get("The numbers of the experiment", "application/json"),
        "/{experiment}/": _get("The live page", "text/html"),
        "/healthz": _get("Whether requests are answered; needs no token", "application/json"),
        "/metrics": _get("Numbers for Prometheus", "text/plain"),
        "/docs": _get("This API as a page", "text/html"),
        "/openapi.json": _get("This API as JSON", "application/json"),
    }
    some_refused = {"description": SOME_REFUSED, "content": _json({"type": "array", "items": answer})}
    paths["/{experiment}/deliver"]["post"]["responses"]["207"] = some_refused
    for path, methods in paths.items():
        if "{experiment}" in path:
            named = {"name": "experiment", "in": "path", "required": True, "schema": {"type": "string"}}
            next(iter(methods.values()))["parameters"] = [named]
    paths["/healthz"]["get"]["security"] = []
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "tpstream",
            "version": own_version(),
            "description": "Decisions whose rewards arrive in parts. Of a single experiment, the name may be left out.",
        },
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def api_page() -> str:
    """The page: every path with an example, and every value with its fields."""
    described = openapi()
    rows = [
        {"method": method.upper(), "path": path, "what": one["summary"], "example": _example(one)}
        for path, methods in described["paths"].items()
        for method, one in methods.items()
    ]
    values = [
        {"name": name, "meaning": schema.get("description", "").partition("\n\n")[0], "fields": _fields(schema)}
        for name, schema in described["components"]["schemas"].items()
    ]
    return make_page(
        "api.html",
        styles=["api.css"],
        title="API of tpstream",
        paths=rows,
        values=values,
        refusals={"207": SOME_REFUSED, **REFUSALS},
    ).text


def _post(summary: str, takes: Any, gives: Any, example: Any, error: Any, said: str) -> dict[str, Any]:
    """A path that changes something."""
    refusals = {status: {"description": why, "content": _json(error)} for status, why in REFUSALS.items()}
    body = {"required": True, "content": {"application/json": {"schema": takes, "example": example}}}
    fine = {"description": said, "content": _json(gives)}
    return {"post": {"summary": summary, "requestBody": body, "responses": {"200": fine, **refusals}}}


def _get(summary: str, kind: str) -> dict[str, Any]:
    """A path that shows something."""
    refusals = {status: {"description": REFUSALS[status]} for status in SHOWN}
    return {
        "get": {"summary": summary, "responses": {"200": {"description": summary, "content": {kind: {}}}, **refusals}}
    }


def _json(schema: Any) -> dict[str, Any]:
    """Content that is JSON of this schema."""
    return {"application/json": {"schema": schema}}


def _example(operation: Any) -> str:
    """The example of a request's body."""
    if "requestBody" not in operation:
        return ""
    return msgspec.json.encode(operation["requestBody"]["content"]["application/json"]["example"]).decode()


def _fields(schema: Any) -> list[dict[str, str]]:
    """The fields of a value: name, type, and whether it may be left out."""
    needed = schema.get("required", [])
    return [
        {"name": name, "type": _type(one), "needed": "needed" if name in needed else "may be left out"}
        for name, one in schema.get("properties", {}).items()
    ]


def _type(schema: Any) -> str:
    if "anyOf" in schema:
        return " or ".join(_type(one) for one in schema["anyOf"])
    if "enum" in schema:
        return " or ".join(map(str, schema["enum"]))
    items = f" of {_type(schema['items'])}" if "items" in schema else ""
    return f"{schema.get('type', 'value')}{items}"
