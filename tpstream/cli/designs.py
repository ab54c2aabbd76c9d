"""How commands take and show designs of trials: what is true of the arms, operating characteristics, a trial told."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tpstream.cli.options import OutputFlags, flag, option
from tpstream.cli.output import print_json, print_table, records
from tpstream.cli.start import say
from tpstream.cli.study import show_places

if TYPE_CHECKING:
    from tpstream.scenario.scenario import Scenario
    from tpstream.trial.designs import OperatingCharacteristics
    from tpstream.trial.truths import Truths


@dataclass(frozen=True)
class TruthFlags:
    """What is true of the arms of a design."""

    null: Annotated[bool, flag("--null", "Also simulate the null: all arms as the control.")] = False
    effect: Annotated[
        str | None,
        option(
            "--effect D,D,...",
            "Simulate truths in which one arm is better than the control by so much and the others are as the control.",
            default="none",
        ),
    ] = None
    on: Annotated[
        str | None, option("--on ARM", "The arm that --effect is about.", default="the last that is not the control")
    ] = None
    others_effect: Annotated[
        float | None,
        option(
            "--others-effect D",
            "By how much the other arms are better in those truths, for the least favourable one.",
            default="0",
        ),
    ] = None
    control_rate: Annotated[
        str | None,
        option(
            "--control-rate P,P,...", "Simulate every truth with each of these rates of the control.", default="none"
        ),
    ] = None

    def __post_init__(self) -> None:
        if self.effect is None and (self.on is not None or self.others_effect is not None):
            raise typer.BadParameter(
                "--on and --others-effect say more about --effect; add --effect, as in --effect 0.1"
            )

    def truths(self) -> "Truths":
        """The truths that are asked for."""
        from tpstream.trial.truths import Truths

        return Truths(
            null=self.null,
            effects=read_numbers("--effect", self.effect),
            on=self.on,
            others=self.others_effect or 0.0,
            control_rates=read_numbers("--control-rate", self.control_rate),
        )


def read_numbers(name: str, text: str | None) -> list[float]:
    """The numbers of "0.1,0.2" or "0.1:0.3:0.1"."""
    from tpstream.model.errors import StudyError
    from tpstream.scenario.overrides import read_values

    found = read_values(text) if text else []
    for one in found:
        if isinstance(one, bool) or not isinstance(one, int | float):
            raise StudyError(f"{name} {text}: {one!r} is not a number; write them as in 0.1,0.2")
    return [float(one) for one in found]


def show_told(
    scenarios: "list[Scenario]", policies: Sequence[str] | None, truth: TruthFlags, seed: int, output: OutputFlags
) -> None:
    """Tell one trial of each design under each truth."""
    from tpstream.trial.tell import tell_trial

    told: list[dict[str, Any]] = []
    deciders: Sequence[str | None] = policies or [None]
    for scenario in scenarios:
        for label, arms in truth.truths().of(scenario).items():
            changed = scenario.with_(arms=arms)
            for policy in deciders:
                lines = tell_trial(changed, policy, seed=seed)
                told.append({"scenario": scenario.name, "truth": label, "seed": seed, "told": lines})
    if output.as_json:
        print_json({"trials": told})
        return
    for number, one in enumerate(told):
        if number:
            say("")
        if len(told) > 1:
            say(f"[{one['truth']}]")
        for line in one["told"]:
            say(line)


def show_designs(
    result: "OperatingCharacteristics",
    output: OutputFlags,
    warnings: Sequence[str] = (),
    *,
    figure: Path | None = None,
    report: Path | None = None,
    out: Path | None = None,
) -> None:
    """Print the operating characteristics of designs with looks."""
    from tpstream.trial import design_rows as rows

    several = len(result.designs) > 1
    if output.as_json:
        shown: dict[str, Any] = {
            "designs": result.designs,
            "truths": result.truths,
            "seed": result.seed,
            "time_unit": result.time_unit,
            "rules": {design: list(description.rules) for design, description in result.descriptions.items()},
            "characteristics": records(result.table()),
            "contrasts": records(result.contrasts()) if several else [],
            "failures": records(result.failed()),
            "warnings": list(warnings),
        }
        print_json({**shown, "figure": figure, "report": report, "out": out})
        return
    name = ", ".join(result.designs)
    print_table(
        rows.decision_rows(result), title=f"{name}: what trials conclude (brackets: 95 % Monte Carlo intervals)"
    )
    if several:
        title = f"against {result.designs[0]}, trial by trial on the same random numbers (shares: percentage points)"
        print_table(rows.contrast_rows(result), title=title)
    print_table(rows.size_rows(result), title="how large trials are")
    if not output.quiet:
        print_table(rows.arm_rows(result), title="patients on each arm, and what is concluded of it")
        print_table(rows.estimate_rows(result), title="estimates of each arm, with everything known")
        differences = rows.difference_rows(result)
        if differences:
            print_table(differences, title="estimates of differences to the control, with everything known")
        stops = rows.stop_rows(result, intervals=False)
        if stops:
            print_table(stops, title="how often a rule ends the trial, and at which look")
            incomplete = rows.incomplete_rows(result)
            print_table(incomplete, title="what incomplete data do, and errors with everything known")
        print_table(rows.benefit_rows(result), title="what the patients get")
    show_places(output, figure, out, report)
