"""The one training loop, its losses and its checkpoints."""
