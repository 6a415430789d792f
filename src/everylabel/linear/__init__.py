"""Linear classifiers, many at once: the solver, and the ranker that uses them down a tree of labels."""

LANES = 16  # classifiers that are trained side by side: floats of one vector
