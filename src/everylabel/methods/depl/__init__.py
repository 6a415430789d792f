"""DEPL: rare labels found by descriptions that a linear classifier writes."""
