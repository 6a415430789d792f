"""Nearest label vectors: exact, and approximate for very many labels; or label texts, by their tokens."""
