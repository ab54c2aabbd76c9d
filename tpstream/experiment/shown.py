"""How a study shows itself at a prompt and in a notebook."""

from collections.abc import Mapping

from tpstream.analysis.intervals import Interval
from tpstream.analysis.regret import all_equal
from tpstream.experiment.result import Study
from tpstream.figures.style import policy_colours
from tpstream.model.display import Curve, Summary, counted, number_text


def summarise(study: Study, curves: Mapping[str, Interval]) -> Summary:
    """A row for each policy, and its curve of regret if it finished a run."""
    colours, rows = policy_colours(study.records), []
    for policy, records in study.records.items():
        regret = interval = share = "none"
        if policy in curves:
            lines = curves[policy].mean, curves[policy].low, curves[policy].high
            regret, *ends = (number_text(float(line[-1])) for line in lines)
            interval = " to ".join(ends) if len(records) > 1 else "needs 2 runs"
            pulls = study.pulled(policy)[:, -1]
            share = "none" if all_equal(study.means) else f"{pulls[:, study.best].sum() / pulls.sum():.1%}"
        row = {"policy": policy, "runs": f"{len(records):,}", "regret": regret, "95 % interval": interval}
        rows.append(row | {"on best arm": share})
    failed = [f"{counted(len(study.failures), 'run')} failed; see failed()"] if study.failures else []
    return Summary(
        f"Study of {study.name}: {counted(int(study.rounds[-1]), 'round')}, seed {study.seed}",
        (),
        rows,
        [*failed, *filter(None, [study.no_best_arm])],
        {policy: Curve(study.rounds, curve.mean, colours[policy]) for policy, curve in curves.items()},
        ("round", "pseudo-regret"),
    )
