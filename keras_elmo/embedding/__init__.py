"""Embedding any amount of text."""
