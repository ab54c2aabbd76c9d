"""Where does time come from? The bus, SimPy, the compiled loop, and replay of a log."""
