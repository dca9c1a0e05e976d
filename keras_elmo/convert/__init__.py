"""Model files: one module a format."""
