"""Benchmarks: each module measures one claim, writes JSON to benchmarks/results, and can be resumed."""
