"""What measures: `python -m benchmarks.run.NAME --data DIR` writes JSON to benchmarks/results, and can be resumed."""
