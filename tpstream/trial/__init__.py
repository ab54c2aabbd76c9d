"""How good is a policy as the design of a trial? Operating characteristics from many runs."""
