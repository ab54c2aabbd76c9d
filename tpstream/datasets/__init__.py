"""Where do real data come from? Data sets that are not ours to ship, prepared as traces and scenarios."""
