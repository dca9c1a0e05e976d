"""Files of labeled data: tags, sentences, pairs, questions, translations.

Every reader is strict by default: the first fault is an error with its file and line. With
`strict=False` faults are mended or left out, and counted in one warning.
"""
