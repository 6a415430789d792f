"""Methods on words: linear classifiers, label texts matched by words, nearest neighbours, the most frequent labels."""
