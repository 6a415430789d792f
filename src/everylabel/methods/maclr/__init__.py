"""MACLR, and what else needs no labelled pair: its siblings, a pretrained encoder, words and meaning in one."""
