"""What is remembered? The schema of a run's log, the sinks that write it and the reader."""
