"""What does it mean? Regret, tables and figures; it reads logs and results only."""
