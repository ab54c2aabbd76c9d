"""Does a plug-in keep what it promises? The conformance kit: one check for each kind of plug-in, for use in tests.

Each check takes a plug-in (the object, or its name once it is installed or loaded) with settings to try, and raises an
AssertionError that says what is wrong. All built-ins pass.
"""

from tpstream.testing.policies import check_policy
from tpstream.testing.rewards import check_rewards
from tpstream.testing.sinks import check_sink
from tpstream.testing.timing import check_arrivals, check_delay

__all__ = ["check_arrivals", "check_delay", "check_policy", "check_rewards", "check_sink"]
