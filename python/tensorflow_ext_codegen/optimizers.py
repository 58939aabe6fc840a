"""The optimizers and learning-rate schedules of Keras 3, from which templates write types.

tests/train compares the table with the signatures of Keras.
"""

import dataclasses

# The value of a field without a default.
REQUIRED = object()

RATE = "rate"  # a number or a schedule
OPTIMIZER = "optimizer"
NUMBER = "number"
OPTIONAL_NUMBER = "number or nothing"
OPTIONAL_COUNT = "integer or nothing"
FLAG = "flag"
NAME = "string"
OPTIONAL_NAME = "string or nothing"
NUMBERS = "list of numbers"
OPTIONAL_AXES = "list of integers or nothing"


@dataclasses.dataclass(frozen=True)
class Field:
    """A hyperparameter.

    Attributes:
      name: Its name in Keras, and its key in JSON.
      kind: One of the constants above.
      default: None stands for nothing, REQUIRED for no default.
      text: Its meaning.
      is_own: True if Keras does not have it.
    """

    name: str
    kind: str
    default: object
    text: str
    is_own: bool = False


@dataclasses.dataclass(frozen=True)
class Class:
    """An optimizer, schedule or initializer; `name` is that of the class in Keras."""

    name: str
    text: str
    fields: tuple[Field, ...]

    @property
    def required(self) -> list[Field]:
        return [field for field in self.fields if field.default is REQUIRED]


def _number(name: str, default: object, text: str) -> Field:
    return Field(name, NUMBER, default, text)


def _maybe(name: str, text: str) -> Field:
    return Field(name, OPTIONAL_NUMBER, None, text)


def _flag(name: str, text: str, default: bool = False, is_own: bool = False) -> Field:
    return Field(name, FLAG, default, text, is_own)


def _beta(name: str, default: float, of: str) -> Field:
    return _number(name, default, f"The decay of the running mean of {of}.")


def _epsilon() -> Field:
    return _number("epsilon", 1e-7, "Keeps a divisor from being zero.")


_WEIGHT_DECAY = "Each step also subtracts learning_rate * weight_decay of each variable."

_SHARED = (
    _maybe("weight_decay", _WEIGHT_DECAY),
    _maybe("clipnorm", "The largest norm of each gradient; larger ones are scaled down."),
    _maybe("clipvalue", "The largest absolute value of an element of a gradient."),
    _maybe("global_clipnorm", "The largest norm of all gradients together."),
    _flag("use_ema", "Keeps a moving average of each variable."),
    _number("ema_momentum", 0.99, "The decay of the moving averages."),
    Field(
        "ema_overwrite_frequency",
        OPTIONAL_COUNT,
        None,
        "The steps after which the variables become their averages, again and again.",
    ),
    _maybe("loss_scale_factor", "The factor by which the program multiplies the loss."),
    Field(
        "gradient_accumulation_steps",
        OPTIONAL_COUNT,
        None,
        "The steps whose mean gradient makes one update, at least 2.",
    ),
    Field(
        "name",
        OPTIONAL_NAME,
        None,
        "The scope of the optimizer's nodes; by default that of Keras, such as adam.",
    ),
    _flag(
        "lazy",
        "Not in Keras. Each step updates only the rows of a table that it gathered.",
        is_own=True,
    ),
    _flag(
        "fused",
        "Not in Keras. False: the ops of Keras, with its last bits, in place of fused kernels.",
        default=True,
        is_own=True,
    ),
)


def _optimizer(name: str, text: str, *own: Field, rate: float = 0.001) -> Class:
    """Own fields replace shared ones of the same name."""
    names = {field.name for field in own}
    learning_rate = Field("learning_rate", RATE, rate, "A number, or a schedule.")
    shared = tuple(field for field in _SHARED if field.name not in names)
    return Class(name, text, (learning_rate, *own, *shared))


def _adam(name: str, text: str, *more: Field) -> Class:
    betas = (_beta("beta_1", 0.9, "gradients"), _beta("beta_2", 0.999, "squared gradients"))
    return _optimizer(name, text, *betas, _epsilon(), *more)


_AMSGRAD = _flag("amsgrad", "Divides by the largest mean so far.")

OPTIMIZERS = (
    _optimizer(
        "SGD",
        "Gradient descent, with momentum on demand.",
        _number("momentum", 0.0, "The share of the last step that the next one repeats."),
        _flag("nesterov", "Uses Nesterov's momentum."),
        rate=0.01,
    ),
    _optimizer(
        "RMSprop",
        "Divides by the root of the mean of squared gradients.",
        _beta("rho", 0.9, "squared gradients"),
        _number("momentum", 0.0, "The share of the last step that the next one repeats."),
        _epsilon(),
        _flag("centered", "Divides by the variance of the gradients."),
    ),
    _optimizer(
        "Adagrad",
        "Divides by the root of the sum of squared gradients.",
        _number("initial_accumulator_value", 0.1, "The sum of squares at the beginning."),
        _epsilon(),
    ),
    _optimizer(
        "Adadelta",
        "Adapts each step to the means of squared gradients and squared steps.",
        _beta("rho", 0.95, "squares"),
        _epsilon(),
    ),
    _adam("Adam", "Adaptive moments.", _AMSGRAD),
    _adam(
        "AdamW",
        "Adam with decoupled weight decay.",
        _AMSGRAD,
        _number("weight_decay", 0.004, _WEIGHT_DECAY),
    ),
    _adam("Adamax", "Adam with the infinity norm."),
    _adam("Nadam", "Adam with Nesterov's momentum."),
    _optimizer(
        "Ftrl",
        "Follow the regularized leader.",
        _number("learning_rate_power", -0.5, "The power of the sum of squares, at most 0."),
        _number("initial_accumulator_value", 0.1, "The sum of squares at the beginning."),
        _number("l1_regularization_strength", 0.0, "The factor of the L1 penalty."),
        _number("l2_regularization_strength", 0.0, "The factor of the L2 penalty."),
        _number("l2_shrinkage_regularization_strength", 0.0, "The factor of the L2 shrinkage."),
        _number("beta", 0.0, "The beta of the paper."),
    ),
    _optimizer(
        "Lion",
        "The sign of a mixture of gradient and momentum.",
        _beta("beta_1", 0.9, "gradients in the step"),
        _beta("beta_2", 0.99, "gradients that is kept"),
    ),
)

# Another optimizer of this kind is not in it.
LOSS_SCALE_OPTIMIZER = Class(
    "LossScaleOptimizer",
    "Scales the loss for half precision, and skips steps whose gradients overflow.",
    (
        Field("inner_optimizer", OPTIMIZER, REQUIRED, "The optimizer of the unscaled gradients."),
        _number("initial_scale", 32768.0, "The factor of the loss at the beginning."),
        _number("dynamic_growth_steps", 2000, "The finite steps after which the factor doubles."),
        Field("name", OPTIONAL_NAME, None, "The scope of the factor's variables."),
    ),
)

_INITIAL = _number("initial_learning_rate", REQUIRED, "The learning rate at the beginning.")
_DECAY_STEPS = _number("decay_steps", REQUIRED, "The number of steps of the decay.")
_DECAY_RATE = _number("decay_rate", REQUIRED, "The decay in decay_steps steps.")
_STAIRCASE = _flag("staircase", "Decays only after each decay_steps steps.")
_ALPHA = _number("alpha", 0.0, "The smallest learning rate as a share of the initial one.")

SCHEDULES = (
    Class(
        "ExponentialDecay", "Geometric decay.", (_INITIAL, _DECAY_STEPS, _DECAY_RATE, _STAIRCASE)
    ),
    Class(
        "InverseTimeDecay",
        "Division by a linear function of the step.",
        (_INITIAL, _DECAY_STEPS, _DECAY_RATE, _STAIRCASE),
    ),
    Class(
        "PiecewiseConstantDecay",
        "A constant between boundaries.",
        (
            Field("boundaries", NUMBERS, REQUIRED, "The last steps of all values but the last."),
            Field("values", NUMBERS, REQUIRED, "The learning rates, one more than boundaries."),
        ),
    ),
    Class(
        "PolynomialDecay",
        "A power of the share of steps that are left.",
        (
            _INITIAL,
            _DECAY_STEPS,
            _number("end_learning_rate", 0.0001, "The learning rate at the end."),
            _number("power", 1.0, "The power."),
            _flag("cycle", "Begins again after the end."),
        ),
    ),
    Class(
        "CosineDecay",
        "Half a period of a cosine, after a linear warm-up on demand.",
        (
            _INITIAL,
            _DECAY_STEPS,
            _ALPHA,
            _maybe("warmup_target", "The learning rate after the warm-up."),
            _number("warmup_steps", 0, "The number of steps of the warm-up."),
        ),
    ),
    Class(
        "CosineDecayRestarts",
        "Half periods of a cosine, each longer than the last.",
        (
            _INITIAL,
            _number("first_decay_steps", REQUIRED, "The number of steps of the first period."),
            _number("t_mul", 2.0, "The factor from one period's length to the next."),
            _number("m_mul", 1.0, "The factor from one period's learning rate to the next."),
            _ALPHA,
        ),
    ),
)
