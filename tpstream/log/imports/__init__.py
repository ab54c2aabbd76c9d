"""How do tables of decisions and payments that somebody else recorded become a log?"""
