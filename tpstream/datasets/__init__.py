"""How do real data become scenarios? Data sets that tpstream may not distribute, turned into traces and scenarios."""
