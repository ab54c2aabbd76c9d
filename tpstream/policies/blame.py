"""Blame: what a policy raises becomes an error that names the policy and the moment."""

import re

from tpstream.model.errors import PolicyError


def blame(error: Exception, label: str, when: str) -> PolicyError:
    """An error of ours that says who raised another one and when, as in "in round 7"."""
    if type(error).__module__.startswith("numba."):
        return PolicyError(f"policy {label!r} cannot be compiled: {_about_compiling(str(error))}")
    return PolicyError(f"policy {label!r} raised {type(error).__name__} {when}: {error}")


def _about_compiling(text: str) -> str:
    """The telling line of Numba's report, with the place in the source."""
    lines = [re.sub(r"\x1b\[\d*m", "", line).strip() for line in text.splitlines()]
    telling = [line for line in lines if line and not line.startswith(("Failed in", "-", "During:"))]
    place = re.findall(r'File "(?:.*/)?(.+?)", line (\d+)', text)
    shown = f" ({place[-1][0]}, line {place[-1][1]})" if place else ""
    return f"{telling[0] if telling else 'Numba does not say why'}{shown}"
