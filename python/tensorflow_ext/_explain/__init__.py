"""Explains and draws the gradient that an op has in each client."""
