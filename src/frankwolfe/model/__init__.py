"""Fitted models: columns prepared, predictions, probabilities, and what made them."""
