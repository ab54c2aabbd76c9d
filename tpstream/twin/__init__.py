"""Twins: which world would have made this log, and what would another policy have earned on it?"""
