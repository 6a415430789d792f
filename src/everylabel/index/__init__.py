"""Nearest label vectors: exact, and approximate for very many labels."""
