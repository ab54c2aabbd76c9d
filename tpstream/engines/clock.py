"""How time is cut for the world outside the engines."""

STRETCH = 4096
"""Rounds between two looks outside: for progress, and for the other policies of the same run."""
