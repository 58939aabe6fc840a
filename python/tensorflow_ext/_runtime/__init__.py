"""Loads the library, registers its gradients in Python, and replays their plans."""
