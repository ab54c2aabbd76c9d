"""What do logs and counts of pulls say? Regret, intervals over runs, theoretical bounds and diagnostics."""
