"""Where does time pass? The SimPy engine and the compiled engine, which give the same events."""
