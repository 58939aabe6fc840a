"""The checks that take hours, for a release: `./run release-check`."""
