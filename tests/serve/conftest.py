"""What tests of deciders share."""

import os

import pytest


@pytest.fixture
def no_flush(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing waits for the disk, for tests with thousands of events that are not about it."""
    monkeypatch.setattr(os, "fdatasync", lambda _: None)
    monkeypatch.setattr(os, "fsync", lambda _: None)
