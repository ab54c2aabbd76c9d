"""When do the parts arrive, and when are decisions due?"""
