"""How does one run go? A scenario, a policy and a seed become decisions, and events for whoever listens."""
