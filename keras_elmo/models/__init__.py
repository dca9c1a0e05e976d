"""Whole models, composed of the layers."""
