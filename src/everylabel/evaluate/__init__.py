"""How good a ranking is: metrics, differences between two systems, and tables of them. Import from the modules."""
