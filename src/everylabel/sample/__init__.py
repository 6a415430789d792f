"""A small catalogue of an invented harbour-town library, the sample corpus of the demo and the tests.

All of it was written for this project; it is licensed like the project, under Apache-2.0.
"""

FILES = ("labels.jsonl", "train.jsonl", "dev.jsonl", "test.jsonl")
