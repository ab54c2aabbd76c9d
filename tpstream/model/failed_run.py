"""A run that failed, as studies and trials tell of it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class FailedRun:
    """One policy in one run: why it failed, and what repeats it alone."""

    scenario: str
    policy: str
    run: int
    seed: int
    reason: str
    repeat: str

    def __str__(self) -> str:
        return f"{self.scenario}: {self.policy} failed in run {self.run} with seed {self.seed}: {self.reason}"
