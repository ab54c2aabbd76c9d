"""How does a reinforcement-learning program drive a world? Environments of Gymnasium, one by one or many at once.

Gymnasium is the extra `gym`: `pip install 'tpstream[gym]'`.
"""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from tpstream.model.errors import PluginError

if TYPE_CHECKING:  # what type checkers and editors read; the table below says the same to Python
    from tpstream.gym.environment import PartialRewardEnv as PartialRewardEnv
    from tpstream.gym.vector import PartialRewardVectorEnv as PartialRewardVectorEnv

__all__ = ["PartialRewardEnv", "PartialRewardVectorEnv"]
_MODULES = {"PartialRewardEnv": "environment", "PartialRewardVectorEnv": "vector"}


def __getattr__(name: str) -> Any:
    """Import an environment when it is first used, if Gymnasium is there."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if find_spec("gymnasium") is None:
        raise PluginError("Gymnasium is not installed; install it with: pip install 'tpstream[gym]'")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
