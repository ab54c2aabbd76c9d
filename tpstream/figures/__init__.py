"""How do results look? Figures drawn by Matplotlib, in one style and with one colour for each policy."""
