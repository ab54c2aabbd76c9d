"""The command inference: what the log of an adaptive trial says about its arms, with how they were assigned."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

import typer

from tpstream.cli.app import command
from tpstream.cli.logs import LogPath
from tpstream.cli.options import OutputFlags, Plugins, Report, load_plugins, option
from tpstream.cli.output import pick, print_json, print_table, records
from tpstream.cli.start import say

if TYPE_CHECKING:
    from tpstream.analysis.endpoints import Count, Endpoint
    from tpstream.replay.randomisation import Alternative, RandomisationTest


def read_endpoint(text: str | None) -> "Endpoint | None":
    """The endpoint from the command line: a word, or weights with commas between them."""
    if text is None:
        return None
    if text in ("sum", "last"):
        return cast("Endpoint", text)
    try:
        return [float(weight) for weight in text.split(",")]
    except ValueError:
        raise typer.BadParameter(f"must be sum, last or weights such as 0,0,1, got {text!r}") from None


@command("Trials", example="inference logs/trial/best-probability.run-000.arrows --control standard")
def inference(
    log: LogPath,
    *,
    endpoint: Annotated[
        str | None,
        option(
            "--endpoint WORD|WEIGHTS",
            "sum or last of the parts, or a weight for each part, such as 0,0,1.",
            default="as the scenario's table trial says, else sum",
        ),
    ] = None,
    count: Annotated[
        Literal["due", "known"],
        option("--count", "Who is counted: patients whose endpoint was due when the log ended, or all known ones."),
    ] = "due",
    control: Annotated[
        str | None,
        option("--control ARM", "The arm with which the others are compared.", default="the trial's, else the first"),
    ] = None,
    weights: Annotated[
        Literal["constant", "two-point"],
        option("--weights", "The weights of the last column; --json has all estimates."),
    ] = "constant",
    decay: Annotated[
        float | None,
        option(
            "--decay EXPONENT",
            "Of two-point weights: a, if the rule's least probability falls as t^-a.",
            default="0 where it is constant, else 0.7",
        ),
    ] = None,
    alternative: Annotated[
        Literal["two-sided", "greater", "less"], option("--alternative", "Of the randomisation test.")
    ] = "two-sided",
    replications: Annotated[
        int, option("--replications N", "How often patients are assigned again; 0: no randomisation test.", least=0)
    ] = 1000,
    seed: Annotated[int, option("--seed -s N", "The seed of these assignments.", least=0)] = 0,
    report: Report = None,
    plugins: Plugins = None,
    output: OutputFlags,
) -> None:
    """Estimate what the arms of an adaptive trial pay, and test whether they differ, from its log.

    Beside the naive means, which are biased where the assignment depended on outcomes, stand estimates that allow for
    it: by augmented inverse probabilities (AIPW), unbiased, and with weights by which intervals are shorter. They need
    the probabilities of every assignment (--log-detail probabilities). The randomisation test assigns the patients
    again by the same rule, with new random numbers. For rules that do not assign at random neither is available, and a
    line says so.
    """
    from tpstream.analysis.adaptive import adaptive_estimates

    load_plugins(plugins)
    told = read_endpoint(endpoint)
    found = adaptive_estimates(log, endpoint=told, count=count, control=control, decay=decay)
    test, reason = _test(log, told, count, control, alternative, replications, seed)
    if report is not None:
        from tpstream.trial.inference_report import inference_report

        inference_report(found, weights, test, reason).write(report)
    if output.as_json:
        top = pick(found, "log", "policy", "control", "rule", "decay", "notes")
        arms = [
            {"arm": arm, "patients": patients, "counted": counted, "known": known}
            for arm, patients, counted, known in zip(
                found.arms, found.patients, found.counted, found.known, strict=True
            )
        ]
        print_json({**top, "arms": arms, "estimates": records(found.frame()), **_test_json(test, reason)})
        return
    print_table(found.rows(weights), title="mean endpoint (brackets: 95 % intervals)")
    if test is not None:
        print_table(test.rows(), title=f"randomisation test, {alternative}, {test.replications:,} replications")
    elif reason is not None:
        say(reason)
    output.add("counted", found.rule)
    output.add("note", *found.notes, *(() if test is None else test.notes))
    output.add("report", report)


def _test(
    log: Path,
    endpoint: "Endpoint | None",
    count: "Count",
    control: str | None,
    alternative: "Alternative",
    replications: int,
    seed: int,
) -> "tuple[RandomisationTest | None, str | None]":
    """The randomisation test, or why it is not available."""
    from tpstream.model.errors import LogError
    from tpstream.replay.randomisation import randomisation_test

    if not replications:
        return None, None
    try:
        found = randomisation_test(
            log,
            endpoint=endpoint,
            count=count,
            control=control,
            alternative=alternative,
            replications=replications,
            seed=seed,
        )
    except LogError as error:
        return None, str(error)
    return found, None


def _test_json(test: "RandomisationTest | None", reason: str | None) -> dict[str, Any]:
    """The randomisation test as JSON; null with the reason if there is none."""
    if test is None:
        return {"test": None, "test_reason": reason}
    shown = pick(test, "alternative", "replications", "seed", "p_value", "notes")
    return {"test": {**shown, "arms": records(test.frame())}, "test_reason": None}
