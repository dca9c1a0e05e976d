"""Pretraining: vocabulary, corpus, loss and the training run."""
