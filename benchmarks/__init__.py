"""Benchmarks: what measures is in run/, what makes pages and pictures of the results in tables/.

rows/DATA/TABLE.toml are the rows of the tables of quality, results/ the numbers (JSON, with the command that made each)
and the pages. `python -m benchmarks --data DIR` runs all of it.
"""
