"""./run release."""
