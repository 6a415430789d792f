"""What a ranking is worth, from the ranking and the truth alone."""
