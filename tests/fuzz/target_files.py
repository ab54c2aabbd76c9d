"""Files that were changed, read by every command that reads such files."""

from collections.abc import Mapping
from functools import cache
from typing import Any

from hypothesis import strategies as st
from kept_children import try_files
from mutations import changed_file, donors_of, tree_of
from samples import Sample, do_words, is_slow, samples

Case = dict[str, Any]


@cache
def _donors(kind: str) -> Mapping[str, list[Any]]:
    return donors_of([tree_of(one.changed, one.files[one.changed]) for one in samples(kind)])


def cases(kind: str) -> st.SearchStrategy[Case]:
    """A sample of this kind of which one file was changed, and a command that reads it."""

    def of(sample: Sample) -> st.SearchStrategy[Case]:
        change = changed_file(sample.changed, sample.files[sample.changed], _donors(kind))
        return st.builds(
            lambda data, words: {"files": {**sample.files, sample.changed: data}, "words": list(words)},
            change,
            _commands(sample),
        )

    return st.sampled_from(samples(kind)).flatmap(of)


def _commands(sample: Sample) -> st.SearchStrategy[Any]:
    """A command that reads the sample; those that take long one time in fifty."""
    slow = [words for words in sample.commands if is_slow(words)]
    quick = [words for words in sample.commands if words not in slow]
    if not (slow and quick):
        return st.sampled_from(sample.commands)
    return st.integers(0, 49).flatmap(lambda number: st.sampled_from(quick if number else slow))


def check(case: Case) -> str | None:
    """What is bad about how the command ends."""
    fault = try_files(case["files"], do_words, case["words"]).fault
    return fault if fault is None or " in " in fault else f"{case['words'][0]}: {fault}"
