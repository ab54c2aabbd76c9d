"""The command line: reads what was typed, calls the package, and prints; heavy imports wait for their command."""
