"""Texts to vectors: transformers, and static token embeddings distilled from them."""
