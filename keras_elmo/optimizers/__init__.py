"""Optimizers that can update a few rows of a large table."""
