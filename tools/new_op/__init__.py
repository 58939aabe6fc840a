"""./run new-op."""
