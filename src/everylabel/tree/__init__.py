"""The label tree: labels that are alike share a branch, so that a ranker need not look at all of them."""
