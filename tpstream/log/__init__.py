"""What is remembered? The schema of a run's log, the sinks that write it and the reader."""

from tpstream.model.registry import Registry

SINKS = Registry(
    what="sink", group="tpstream.sinks", builtin={"lines": "tpstream.log.sinks:LINES"}, needs=("settings", "open")
)
