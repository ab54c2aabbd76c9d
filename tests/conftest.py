"""Settings of the test run."""

import os

from hypothesis import HealthCheck, settings

settings.register_profile(
    "ci", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.register_profile("search", parent=settings.get_profile("ci"), derandomize=False, max_examples=2000)
settings.register_profile("brief", parent=settings.get_profile("ci"), max_examples=10)  # without compiled code
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))
