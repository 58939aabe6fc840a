"""The random numbers of Rrelu, in NumPy."""

import numpy as np

Words = tuple[np.ndarray, np.ndarray]


def threefry(key: Words, counter: Words) -> Words:
    """Threefry-2x32 with 20 rounds."""
    keys = [*key, key[0] ^ key[1] ^ np.uint32(0x1BD11BDA)]
    first, second = counter[0] + keys[0], counter[1] + keys[1]
    rotations = (13, 15, 26, 6), (17, 29, 16, 24)
    for group in range(5):
        for bits in rotations[group % 2]:
            first = first + second
            second = (second << np.uint32(bits)) | (second >> np.uint32(32 - bits))
            second = second ^ first
        first = first + keys[(group + 1) % 3]
        second = second + keys[(group + 2) % 3] + np.uint32(group + 1)
    return first, second


def halves(numbers: np.ndarray) -> Words:
    """The lower and the upper 32 bits."""
    return numbers.astype(np.uint32), (numbers >> 32).astype(np.uint32)


def uniform(key: Words, indices: np.ndarray, double: bool) -> np.ndarray:
    """The numbers in [0, 1) of elements, as float64, with the bits of a float or a double."""

    def words(upper_bit: int) -> np.ndarray:
        """The elements' words, each half of a block."""
        lower, upper = halves(indices // 2)
        first, second = threefry(key, (lower, upper | np.uint32(upper_bit)))
        return np.where(indices % 2, second, first)

    if double:
        return (words(0) >> 5) * 2.0**-27 + (words(1 << 31) >> 6) * 2.0**-53
    return (words(0) >> 8) * 2.0**-24
