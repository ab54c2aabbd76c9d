"""ACTG 175: the randomised HIV trial as a trace of event-free blocks, made from the data in the lifelines package.

Part j of a patient is 1 if nothing happened (no fall of the CD4 count by half or more, no AIDS, no death) up to the end
of the j-th block of 28 days. Patients who left before the end are not dropped: each goes on like a patient of the same
treatment, drawn among those still at risk at that time, and that one may in turn go on like another. In expectation
that is the estimate of Kaplan and Meier (Efron's redistribution to the right). The draws have a fixed seed.
"""

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd

from tpstream.datasets.prepared import refuse_existing, write_scenario
from tpstream.model.arrays import Bools, Floats, Ints
from tpstream.model.errors import ScenarioError

BLOCKS, DAYS = 24, 28
"""The span, and the days of one block."""
ARMS = ("zidovudine", "zidovudine-didanosine", "zidovudine-zalcitabine", "didanosine")
"""The treatments in the order of the data's column `arms`."""
SEED = 175
NEEDED = ("arms", "days", "cens")
TRACE, SCENARIO = "actg175.csv", "actg175.toml"
TEMPLATE = """\
# The randomised HIV trial ACTG 175 (Hammer et al. 1996): {patients:,} patients, four treatments, two years.
# Prepared by `tpstream data actg175`. A unit of time is a block of 28 days; part j is 1 if a patient was free of events
# up to the end of block j. A block pays at most 1, as {groups} groups ask for, but blocks of one patient are not
# independent: who had an event has no more free blocks.

name = "actg175"
horizon = {patients}            # patients
span = {blocks}                 # blocks of 28 days
seed = 1
drain = true              # the trial ends with the last read-out

[rewards]
kind = "trace"
file = "{trace}"
draw = "resample"
groups = {groups}
{arms}
[arrivals]
kind = "poisson"          # patients per block: enrolment takes about eleven blocks
rate = 195.0

[[delays]]
kind = "constant"         # a block is known at its end
lag = 1.0

[[policies]]
kind = "uniform"          # fixed randomisation, as in the trial
[[policies]]
kind = "delayed-ucb1"     # waits for all 24 blocks of a patient
[[policies]]
kind = "tp-ucb-fr"
[[policies]]
kind = "tp-ucb-ew"
"""


@dataclass(frozen=True, eq=False)
class Prepared:
    """What was written, and what is in it: each patient's arm and event-free blocks, and who was completed."""

    trace: Path
    scenario: Path
    arm: Ints
    blocks: Ints
    completed: Bools


def prepare(folder: Path, *, force: bool = False, seed: int = SEED) -> Prepared:
    """Write the trace and its scenario into a folder, from the installed lifelines."""
    trace, scenario = folder / TRACE, folder / SCENARIO
    refuse_existing([trace, scenario], force=force)
    frame = read_patients(data_file())
    arm, days, event = (frame[column].to_numpy() for column in NEEDED)
    moments = complete(arm, days.astype(np.float64), event == 1, np.random.default_rng(seed))
    blocks = free_blocks(moments)
    folder.mkdir(parents=True, exist_ok=True)
    write_trace(trace, arm, blocks)
    write_scenario(scenario, TEMPLATE, ARMS, BLOCKS, patients=len(arm), blocks=BLOCKS, groups=BLOCKS, trace=TRACE)
    return Prepared(trace, scenario, arm, blocks, left_early(days, event == 1))


def data_file() -> Path:
    """The table of the patients in the installed lifelines, which itself need not be imported."""
    found = find_spec("lifelines")
    if found is None or found.origin is None:
        raise ScenarioError("the data are in the package lifelines, which is missing; pip install 'tpstream[data]'")
    file = Path(found.origin).parent / "datasets" / "ACTG175.csv"
    if not file.is_file():
        raise ScenarioError(f"{file}: this lifelines is without the data; install lifelines 0.30 or newer")
    return file


def read_patients(file: Path) -> pd.DataFrame:
    """A row for each patient: the treatment, the days observed, and whether an event ended them (`cens` is 1)."""
    frame = pd.read_csv(file)
    for column in NEEDED:
        if column not in frame:
            raise ScenarioError(f"{file}: has no column {column!r}; install lifelines 0.30 or newer")
    return frame[list(NEEDED)]


def left_early(days: Floats | Ints, event: Bools) -> Bools:
    """Whose last blocks are not known: who left without an event before the end."""
    early: Bools = ~event & (days < BLOCKS * DAYS)
    return early


def complete(arm: Ints, days: Floats, event: Bools, stream: np.random.Generator) -> Floats:
    """The day of each patient's event, infinite if there is none up to the end of the last block.

    Who left early goes on like a patient of the same arm who was observed for longer; if there is none, without event.
    """
    moments = np.where(event, days, np.inf)
    early = np.flatnonzero(left_early(days, event))
    # From the last to the first: whom a patient goes on like was completed before.
    for patient in early[np.argsort(-days[early], kind="stable")].tolist():
        at_risk = np.flatnonzero((arm == arm[patient]) & (days > days[patient]))
        if len(at_risk):
            moments[patient] = moments[at_risk[stream.integers(len(at_risk))]]
    return moments


def free_blocks(moments: Floats) -> Ints:
    """How many blocks are over before the day of the event; one on the last day of a block belongs to that block."""
    whole = np.ceil(np.minimum(moments, BLOCKS * DAYS + 1) / DAYS).astype(np.int64) - 1
    return np.clip(whole, 0, BLOCKS)


def write_trace(path: Path, arm: Ints, blocks: Ints) -> None:
    """One row for each patient: the arm, and 1 for every block that was free of events."""
    parts = (np.arange(BLOCKS) < blocks[:, np.newaxis]).astype(np.int8)
    table = pd.DataFrame(parts, columns=[f"x{part}" for part in range(1, BLOCKS + 1)])
    table.insert(0, "arm", np.array(ARMS)[arm])
    table.to_csv(path, index=False)
