"""What was asked? Scenario files, runs, comparisons."""
