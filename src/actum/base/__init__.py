"""Floor 0. Ground: values, errors, time, limits. Standard library and msgspec only."""
