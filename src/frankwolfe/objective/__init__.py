"""The objective: its exact value and derivatives, and the best intercept."""
