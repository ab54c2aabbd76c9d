"""The policies of a scenario as the theory sees them."""

from collections.abc import Iterable

from tpstream.analysis.bounds import Known
from tpstream.study.choices import PolicyChoice


def known_to_theory(choices: Iterable[PolicyChoice]) -> list[Known]:
    """Label, kind and assumed groups of every policy."""
    return [(choice.label, choice.form.name, getattr(choice.parameters, "groups", None)) for choice in choices]
