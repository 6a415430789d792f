"""XML0: labels that nobody has used yet, from any classifier."""
