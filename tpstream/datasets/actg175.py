"""ACTG 175: a randomised HIV trial as a trace of event-free blocks, from the data in the package lifelines.

Part j of a patient is 1 if there was no event up to the end of the j-th block of 28 days; an event is a fall of the
CD4 count by half or more, AIDS, or death. Patients who left before the end are kept: each is continued with the course
of a patient of the same treatment, drawn among those still at risk at that time, whose course may itself be a continued
one. In expectation this is the Kaplan-Meier estimate (Efron's redistribution to the right). The seed is fixed.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from tpstream.datasets.prepared import check_output, installed_file, write_scenario, write_trace
from tpstream.model.arrays import Bools, Floats, Ints
from tpstream.model.errors import ScenarioError

BLOCKS, DAYS = 24, 28
"""The number of blocks, which is the span, and the days of a block."""
ARMS = ("zidovudine", "zidovudine-didanosine", "zidovudine-zalcitabine", "didanosine")
"""The treatments in the order of the data's column `arms`."""
SEED = 175
NEEDED = ("arms", "days", "cens")
"""The columns of the data: treatment, days observed, and 1 if an event ended the observation."""
TRACE, SCENARIO = "actg175.csv", "actg175.toml"


@dataclass(frozen=True, eq=False)
class Prepared:
    """The files that were written, and for each patient the arm, the event-free blocks, and whether completed."""

    trace: Path
    scenario: Path
    arm: Ints
    blocks: Ints
    completed: Bools


def prepare(folder: Path, *, force: bool = False, seed: int = SEED) -> Prepared:
    """Write the trace and its scenario into a folder, from the data of the installed lifelines."""
    trace, scenario = folder / TRACE, folder / SCENARIO
    check_output(trace, scenario, force=force)
    frame = read_patients(data_file())
    arm, days, event = (frame[column].to_numpy() for column in NEEDED)
    event_days = complete(arm, days.astype(np.float64), event == 1, np.random.default_rng(seed))
    blocks = free_blocks(event_days)
    write_trace(trace, ARMS, arm, np.arange(BLOCKS) < blocks[:, np.newaxis])
    write_scenario(
        scenario, "actg175_template.toml", ARMS, BLOCKS, patients=len(arm), blocks=BLOCKS, groups=BLOCKS, trace=TRACE
    )
    return Prepared(trace, scenario, arm, blocks, left_early(days, event == 1))


def data_file() -> Path:
    """The file of the patients in the installed lifelines, found without importing that package."""
    return installed_file("lifelines", "ACTG175.csv", "0.30 or newer")


def read_patients(file: Path) -> pd.DataFrame:
    """The needed columns, a row for each patient."""
    frame = pd.read_csv(file)
    for column in NEEDED:
        if column not in frame:
            raise ScenarioError(f"{file}: has no column {column!r}; install lifelines 0.30 or newer")
    return frame[list(NEEDED)]


def left_early(days: Floats | Ints, event: Bools) -> Bools:
    """Whether each patient left before the end without an event, so that the last blocks are unknown."""
    early: Bools = ~event & (days < BLOCKS * DAYS)
    return early


def complete(arm: Ints, days: Floats, event: Bools, stream: np.random.Generator) -> Floats:
    """The day of each patient's event, infinite if there is none up to the end of the last block.

    A patient who left early gets the event of a random patient of the same arm who was observed for longer; no event
    if there is no such patient.
    """
    event_days = np.where(event, days, np.inf)
    early = np.flatnonzero(left_early(days, event))
    # Those observed longest come first, so that the patient drawn is complete already.
    for patient in early[np.argsort(-days[early], kind="stable")].tolist():
        at_risk = np.flatnonzero((arm == arm[patient]) & (days > days[patient]))
        if len(at_risk):
            event_days[patient] = event_days[at_risk[stream.integers(len(at_risk))]]
    return event_days


def free_blocks(event_days: Floats) -> Ints:
    """The number of blocks that end before the day of the event; the last day of a block belongs to that block."""
    whole = np.ceil(np.minimum(event_days, BLOCKS * DAYS + 1) / DAYS).astype(np.int64) - 1
    return np.clip(whole, 0, BLOCKS)
