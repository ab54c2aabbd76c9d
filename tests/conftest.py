"""Settings of the test run."""

import fcntl
import gc
import hashlib
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from numba.core.caching import NullCache
from numba.core.compiler_lock import global_compiler_lock
from numba.core.dispatcher import Dispatcher

from tpstream.model.numba_support import JIT_IS_OFF
from tpstream.policies import gittins_table

LOCKS = Path(tempfile.gettempdir()) / f"tpstream-locks-{os.getuid()}"
os.environ["TPSTREAM_NOTES"] = "0"  # tests that want to hear them say so
settings.register_profile(
    "ci", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.register_profile("search", parent=settings.get_profile("ci"), derandomize=False, max_examples=2000)
settings.register_profile("brief", parent=settings.get_profile("ci"), max_examples=10)  # without compiled code
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


def pytest_collection_finish() -> None:
    """Look for garbage seldom: Numba makes millions of small objects, and a tenth of its time would go into this."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 50, 50)


@contextmanager
def only_here(function: Callable[..., Any]) -> Iterator[None]:
    """Let no other process of the tests compile a function meanwhile: it waits, and takes it from the cache then."""
    name = f"{function.__code__.co_filename} {function.__qualname__}"
    with (LOCKS / hashlib.sha256(name.encode()).hexdigest()).open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(file, fcntl.LOCK_UN)


@pytest.fixture(scope="session", autouse=True)
def _compilation() -> Iterator[None]:
    """Coverage does not follow Numba's compiler, which would take half as long again; nothing is compiled twice."""
    compile_plainly = Dispatcher.compile
    LOCKS.mkdir(exist_ok=True)

    def compile_once(self: Dispatcher, signature: Any) -> Any:
        trace = sys.gettrace()
        sys.settrace(None)
        try:
            if isinstance(self._cache, NullCache):
                return compile_plainly(self, signature)
            with global_compiler_lock, only_here(self.py_func):
                return compile_plainly(self, signature)
        finally:
            sys.settrace(trace)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Dispatcher, "compile", compile_once)
        yield


@pytest.fixture(scope="session", autouse=True)
def _coarse_gittins_indices() -> Iterator[None]:
    """As plain Python a table of Gittins indices would take minutes: there it is only good for comparisons."""
    with pytest.MonkeyPatch.context() as patch:
        if JIT_IS_OFF:
            patch.setattr(gittins_table, "GRID", 6)
            patch.setattr(gittins_table, "AHEAD", 0.005)
        yield
