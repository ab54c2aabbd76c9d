"""How does it look? Figures, drawn by Matplotlib in one style."""
