"""rpact's boundaries of a group-sequential design with delayed responses, computed once more."""

from collections.abc import Sequence

import numpy as np

from tpstream.looks.boundaries import spending_boundaries
from tpstream.looks.delayed_response import decision_after_stop
from tpstream.looks.spending import spent
from tpstream.model.arrays import Floats
from tpstream.paper.published import Effort, Number

BOUNDARY_TOLERANCE = 1e-6
REVERSAL_TOLERANCE = 1e-4


def rpact(_: Effort) -> list[Number]:
    """Boundaries of a group-sequential design with delayed responses, as in the tests of rpact; nothing is simulated.

    Spending of O'Brien and Fleming's kind for both errors, 5 % and 10 %, binding futility, information 0.4, 0.65, 1.
    """
    rates, title = np.array([0.4, 0.65, 1.0]), "rpact: delayed response"
    found = spending_boundaries(rates, spent("obrien-fleming", 0.05, rates), spent("obrien-fleming", 0.1, rates))
    delayed = [decision_after_stop(found, look, information) for look, information in enumerate((0.1, 0.2))]
    exact: dict[str, tuple[Sequence[float] | Floats, tuple[float, ...]]] = {
        "critical value": (found.efficacy, (2.8874465, 2.1853011, 1.6575593)),
        "futility bound": (found.futility[:2], (-0.46043472, 0.64445014)),
        "decision value": ([one.critical for one in delayed], (1.3388855, 1.5378695)),
    }
    numbers = [
        Number(title, f"{what}, look {look}", float(ours), 0.0, theirs, rounding=BOUNDARY_TOLERANCE)
        for what, (several, published) in exact.items()
        for look, (ours, theirs) in enumerate(zip(several, published, strict=True), start=1)
    ]
    reversals = zip(delayed, (1.7563e-6, 0.0014674026), strict=True)
    numbers += [
        Number(title, f"reversal, look {look}", one.reversal, 0.0, theirs, rounding=REVERSAL_TOLERANCE * theirs)
        for look, (one, theirs) in enumerate(reversals, start=1)
    ]
    return numbers
