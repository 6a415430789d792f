"""Linear classifiers, many at once: the solver, and the ranker that uses them down a tree of labels."""
