"""What turns results into pages and pictures: `python -m benchmarks.tables` writes all pages, from the JSON files.

One module a page, each runnable by itself: `python -m benchmarks.tables.speed` writes results/pages/speed.md.
"""
