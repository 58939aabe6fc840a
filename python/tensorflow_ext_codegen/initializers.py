"""The initializers of Keras 3, from which templates write types.

tests/wrappers compares the table with the signatures of Keras.
"""

from tensorflow_ext_codegen.optimizers import (
    NAME,
    NUMBER,
    OPTIONAL_AXES,
    OPTIONAL_COUNT,
    Class,
    Field,
)


def _number(name: str, default: float, text: str) -> Field:
    return Field(name, NUMBER, default, text)


_GAIN = _number("gain", 1.0, "The factor of the matrix.")
_SEED = Field("seed", OPTIONAL_COUNT, None, "Gives the numbers of Keras. Without it they vary.")
_NORMAL = (
    _number("mean", 0.0, "The mean."),
    _number("stddev", 0.05, "The standard deviation."),
    _SEED,
)
_FANS = (
    _SEED,
    Field("input_axes", OPTIONAL_AXES, None, "The axes of the inputs; by default those of Keras."),
    Field("output_axes", OPTIONAL_AXES, None, "The axes of the outputs, if input_axes are given."),
)
_MODE = Field("mode", NAME, "fan_in", "The n: fan_in, fan_out or fan_avg.")
_DISTRIBUTION = Field(
    "distribution", NAME, "truncated_normal", "Or untruncated_normal, or uniform."
)

INITIALIZERS = (
    Class("Constant", "The same number everywhere.", (_number("value", 0.0, "The number."),)),
    Class("GlorotNormal", "A truncated normal distribution of variance 2 / (in + out).", _FANS),
    Class("GlorotUniform", "A uniform distribution of variance 2 / (in + out).", _FANS),
    Class("HeNormal", "A truncated normal distribution of variance 2 / in.", _FANS),
    Class("HeUniform", "A uniform distribution of variance 2 / in.", _FANS),
    Class("Identity", "An identity matrix.", (_GAIN,)),
    Class("LecunNormal", "A truncated normal distribution of variance 1 / in.", _FANS),
    Class("LecunUniform", "A uniform distribution of variance 1 / in.", _FANS),
    Class("Ones", "Ones.", ()),
    Class("Orthogonal", "An orthogonal matrix.", (_GAIN, _SEED)),
    Class("RandomNormal", "A normal distribution.", _NORMAL),
    Class(
        "RandomUniform",
        "A uniform distribution.",
        (
            _number("minval", -0.05, "The smallest value."),
            _number("maxval", 0.05, "The largest value, excluded."),
            _SEED,
        ),
    ),
    Class("TruncatedNormal", "A normal distribution, cut off after two deviations.", _NORMAL),
    Class(
        "VarianceScaling",
        "A distribution of variance scale / n.",
        (_number("scale", 1.0, "The factor of the variance."), _MODE, _DISTRIBUTION, *_FANS),
    ),
    Class("Zeros", "Zeros.", ()),
)
