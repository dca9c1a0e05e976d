"""Text to character ids, and raw text to tokens."""
