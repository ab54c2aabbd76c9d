"""Logs of one world, sorted by policy and run; each run may be there once."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tpstream.log.reader import Log, read_logs
from tpstream.log.schema import Header
from tpstream.model.errors import LogError
from tpstream.rewards.base import money_unit


@dataclass(frozen=True, eq=False)
class WorldLogs:
    """The logs of one world by policy, in order of seed and run, and the header of one of them."""

    header: Header
    logs: Mapping[str, list[Log]]

    @property
    def name(self) -> str:
        """The name of the scenario."""
        return str(self.header.scenario.get("name", "log"))


def logged_currency(header: Header) -> str | None:
    """How the amounts of a log are written, empty if the currency is not known; None if its rewards are not money."""
    named, kind = header.currency or header.scenario.get("currency"), header.scenario.get("rewards", {}).get("kind", "")
    return money_unit(named, kind)


def gather(logs: Iterable[Log | str | Path] | Log | str | Path) -> WorldLogs:
    """Open logs and check that they belong together: files, folders of logs, or logs that are open already."""
    several = [logs] if isinstance(logs, Log | str | Path) else list(logs)
    found = [log for one in several for log in ([one] if isinstance(one, Log) else read_logs(one))]
    if not found:
        raise LogError("no log was given; name files or folders")
    by_policy: dict[str, list[Log]] = {}
    seen: dict[tuple[str, int, int], Log] = {}
    for log in found:
        header = log.header
        _check_equal(found[0], log, ("arms", "means", "maxima", "span", "horizon"))
        run = header.policy, header.seed, header.run
        if run in seen:
            raise LogError(
                f"{log.path}: run {header.run} (seed {header.seed}) of {header.policy!r} is also in {seen[run].path}; "
                f"leave one of them out"
            )
        seen[run] = log
        of_policy = by_policy.setdefault(header.policy, [])
        of_policy.append(log)
        _check_equal(of_policy[0], log, ("kind", "parameters"))
    for of_policy in by_policy.values():
        of_policy.sort(key=lambda log: (log.header.seed, log.header.run))
    return WorldLogs(found[0].header, by_policy)


def _check_equal(first: Log, log: Log, keys: Iterable[str]) -> None:
    """Refuse a log whose header has another value than that of the first under one of these keys."""
    for key in keys:
        one, other = getattr(first.header, key), getattr(log.header, key)
        if one != other:
            word = "policy" if key == "kind" else key
            raise LogError(
                f"{log.path}: {word} {other}, but {first.path} has {one}; give logs of one world, "
                f"with one label for each policy"
            )
