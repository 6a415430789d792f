"""Plots, and the one-page report."""
