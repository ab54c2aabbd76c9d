"""How a scenario shows itself: what is listed of it for completion and `help`, and a short summary."""

from inspect import Parameter, Signature
from typing import TYPE_CHECKING

from pydantic import BaseModel

from tpstream.model.display import Summary, counted, listed, number_text
from tpstream.model.errors import TpstreamError

if TYPE_CHECKING:
    from tpstream.scenario.scenario import Scenario


class ShortListing(type(BaseModel)):  # type: ignore[misc] # (the class of pydantic's classes has no public name)
    """Lists of a class only what is not pydantic's, so that completion and `help` show what users need.

    The rest of the class works as before.
    """

    def __dir__(cls) -> list[str]:
        return [name for name in super().__dir__() if not (hasattr(BaseModel, name) or "pydantic" in name)]


def keys_signature(model: type[BaseModel]) -> Signature:
    """The keys that a model takes and their defaults, without pydantic's types, which say more than a user reads."""
    defaults = {
        name: Parameter.empty if field.is_required() else field.get_default(call_default_factory=True)
        for name, field in model.model_fields.items()
    }
    return Signature([Parameter(name, Parameter.KEYWORD_ONLY, default=value) for name, value in defaults.items()])


def summarise(scenario: "Scenario") -> Summary:
    """The scenario in a few words and a table of its arms; it never raises, since a repr must not."""
    means = maxima = ["none"] * len(scenario.arms)
    notes = []
    try:
        problem = scenario.problem()
        means, maxima = ([number_text(value) for value in values] for values in (scenario.means, problem.maxima))
    except TpstreamError as error:
        notes.append(f"the rewards cannot be built: {error}")
    rows = [
        {"arm": arm.name, "mean": mean, "maximum": most}
        for arm, mean, most in zip(scenario.arms, means, maxima, strict=True)
    ]
    facts = [f"rewards {scenario.rewards.kind}", f"arrivals {scenario.arrivals.kind}"]
    if scenario.delays:
        facts.append(f"delays {listed([delay.kind for delay in scenario.delays])}")
    if scenario.window is not None:
        facts.append(f"window {number_text(scenario.window)}")
    if scenario.policies:
        facts.append(f"policies {listed([table.name for table in scenario.policies])}")
    size = f"{counted(len(scenario.arms), 'arm')}, {counted(scenario.horizon, 'round')}, span {scenario.span:,}"
    return Summary(f"Scenario {scenario.name}: {size}, seed {scenario.seed}", facts, rows, notes)
