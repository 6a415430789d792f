"""The methods: each is its configuration, `fit`, `rank`, and the arrays it learned."""
