"""What may be concluded at a look into a trial that goes on? Boundaries, tests and posterior probabilities."""
