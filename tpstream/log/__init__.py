"""What is remembered of a run? The schema of its log, the formats, the writer, the reader and the rules of a log."""

from tpstream.model.registry import Registry

SINKS = Registry(
    what="sink", group="tpstream.sinks", builtin={"lines": "tpstream.log.sinks:LINES"}, needs=("settings", "open")
)
