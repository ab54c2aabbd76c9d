"""The thread that asks a decider: requests that wait are handled together, and a failure stops no other."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
import structlog

from tpstream.serve.metrics import Metrics
from tpstream.serve.requests import Close, Decide, Receipt, Reply, Request
from tpstream.serve.worker import StoppingError, Worker


class Failing:
    """A decider whose policy fails: it takes everything but decisions."""

    def __init__(self) -> None:
        self.handled: list[int] = []
        self.closed = False

    def handle(self, requests: Sequence[Request]) -> list[Reply]:
        """Fail, if a decision is among them."""
        self.handled.append(len(requests))
        if any(isinstance(request, Decide) for request in requests):
            raise ZeroDivisionError
        return [Receipt(token=one.token, status="closed", part=0, time=0.0) for one in requests]  # type: ignore[union-attr]

    def close(self) -> None:
        """Note it."""
        self.closed = True


def test_what_is_delivered_is_taken_although_the_policy_fails() -> None:
    """Of requests that are handled together, those that ask the policy fail, and the others are answered."""
    decider, found = Failing(), []

    async def ask() -> None:
        worker = Worker("shop", decider, Metrics(), structlog.get_logger(), 100)
        hold = worker.call(lambda: asyncio.run(asyncio.sleep(0.05)))
        asked: list[Any] = [hold]
        for number in range(6):
            request = Decide(key="k") if number % 2 else Close(token=f"{number}")
            asked.append(worker.ask([request]))
        found.extend(await asyncio.gather(*asked, return_exceptions=True))
        await worker.stop()
        with pytest.raises(StoppingError):
            await worker.ask([Decide(key="late")])

    asyncio.run(ask())
    assert [type(one) for one in found[2::2]] == [ZeroDivisionError] * 3
    assert [one[0].token for one in found[1::2]] == ["0", "2", "4"]
    assert decider.handled == [6, 3, 3]
    assert decider.closed
