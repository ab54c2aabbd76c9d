"""Which words do all packages share? Events, worlds, errors and protocols; this one imports no other of ours."""
