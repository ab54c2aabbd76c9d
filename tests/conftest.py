"""Settings of the test run."""

import os
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from numba.core.dispatcher import Dispatcher

from tpstream.model.numba_support import JIT_IS_OFF
from tpstream.policies import gittins_table

os.environ["TPSTREAM_NOTES"] = "0"  # tests that want to hear them say so
settings.register_profile(
    "ci", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.register_profile("search", parent=settings.get_profile("ci"), derandomize=False, max_examples=2000)
settings.register_profile("brief", parent=settings.get_profile("ci"), max_examples=10)  # without compiled code
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


@pytest.fixture(scope="session", autouse=True)
def _untraced_compilation() -> Iterator[None]:
    """Coverage does not follow Numba's compiler, which would take half as long again."""
    compile_plainly = Dispatcher.compile

    def compile_untraced(self: Dispatcher, signature: Any) -> Any:
        trace = sys.gettrace()
        sys.settrace(None)
        try:
            return compile_plainly(self, signature)
        finally:
            sys.settrace(trace)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Dispatcher, "compile", compile_untraced)
        yield


@pytest.fixture(scope="session", autouse=True)
def _coarse_gittins_indices() -> Iterator[None]:
    """As plain Python a table of Gittins indices would take minutes: there it is only good for comparisons."""
    with pytest.MonkeyPatch.context() as patch:
        if JIT_IS_OFF:
            patch.setattr(gittins_table, "GRID", 6)
            patch.setattr(gittins_table, "AHEAD", 0.005)
        yield
