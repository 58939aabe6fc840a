"""Models of TensorFlow Probability, most of which bring gradients of their own.

Its special functions, samplers and solvers have custom gradients. Samples have fixed seeds, so
both sides differentiate the same ones.

Where `orders` is 1, Python has no second order either: no gradient of RandomGammaGrad or of
IgammaGradA, or a PreventGradient.
"""

from typing import Any

import numpy as np
import tensorflow as tf
import tensorflow_probability as tfp
from models_functions import in_module
from random_values import normal

tfb, tfd, tfm = tfp.bijectors, tfp.distributions, tfp.math


def between(low: float, high: float, *shape: int, seed: int = 0) -> np.ndarray:
    """Uniformly distributed numbers, the same in every run."""
    return np.asarray(np.random.default_rng(seed).uniform(low, high, size=shape))


# TensorFlow saves the gradients of a model's functions, but not those of the functions of these
# gradients. Python's loader warns of that too ("ops with unsaved custom gradients").
NESTED = "The model does not have this gradient"

# On CPUs, Grappler replaces the call of Gamma's sampler with another one (api_implements), which
# draws other numbers. A call that is differentiated changes, so that Grappler does not replace it,
# and a session that has the node would not see that. Inlined calls draw by the implementation that
# the model calls; without Grappler's replacement, Python draws the same numbers.
IMPLEMENTATIONS = "TensorFlow may choose another implementation"
tf.config.optimizer.set_experimental_options({"implementation_selector": False})

X = {"x": normal(4, 3)}
POSITIVE = {"x": between(0.5, 3, 4, 3)}
UNIT = {"x": between(0.1, 0.9, 4, 3)}

# ---- Samples, differentiated by the parameters


def sample(distribution: Any) -> tf.Tensor:
    return distribution.sample(2, seed=tf.constant([1, 2]))


@in_module(POSITIVE, {"rate": between(1, 2, 3)}, error=IMPLEMENTATIONS)
def gamma_sample(m: Any, x: tf.Tensor) -> tf.Tensor:
    return sample(tfd.Gamma(x, m.rate))


@in_module(POSITIVE, {"b": between(1, 2, 3)}, error=IMPLEMENTATIONS)
def beta_sample(m: Any, x: tf.Tensor) -> tf.Tensor:
    return sample(tfd.Beta(x, m.b))


@in_module(POSITIVE, {"loc": normal(3), "scale": between(1, 2, 3)}, error=IMPLEMENTATIONS)
def student_t_sample(m: Any, x: tf.Tensor) -> tf.Tensor:
    return sample(tfd.StudentT(x + 2, m.loc, m.scale))


@in_module(POSITIVE, {"loc": normal(3)}, second_error=NESTED)
def von_mises_sample(m: Any, x: tf.Tensor) -> tf.Tensor:
    return sample(tfd.VonMises(m.loc, x))


@in_module(X, {"logits": normal(3), "scale": between(0.5, 2, 3)}, orders=1)
def mixture_sample(m: Any, x: tf.Tensor) -> tf.Tensor:
    parts = tfd.Categorical(logits=m.logits), tfd.Normal(x, m.scale)
    return sample(tfd.MixtureSameFamily(*parts, reparameterize=True))


@in_module(POSITIVE, {"loc": between(1, 2, 3)})
def inverse_gaussian_sample(m: Any, x: tf.Tensor) -> tf.Tensor:
    return sample(tfd.InverseGaussian(m.loc, x))


@in_module(POSITIVE, {"loc": normal(3), "skewness": between(0.5, 2, 3)}, second_error=NESTED)
def two_piece_normal_sample(m: Any, x: tf.Tensor) -> tf.Tensor:
    return sample(tfd.TwoPieceNormal(m.loc, x, m.skewness))


# ---- Densities


@in_module(POSITIVE, {"df": between(1, 2, 3), "shift": between(1, 2, 3)}, second_error=NESTED)
def noncentral_chi2(m: Any, x: tf.Tensor) -> tf.Tensor:
    return tfd.NoncentralChi2(m.df, m.shift).log_prob(x)


@in_module(X, {"skewness": normal(3), "tailweight": between(0.5, 2, 3)})
def sinh_arcsinh(m: Any, x: tf.Tensor) -> dict[str, tf.Tensor]:
    shape = {"skewness": m.skewness, "tailweight": m.tailweight}
    distribution = tfd.SinhArcsinh(m.skewness, m.tailweight, **shape)
    return {"log_prob": distribution.log_prob(x), "cdf": distribution.cdf(x)}


# The gradient of the loaded loop captures a tensor of the loop.
@in_module(
    {"x": normal(5, 2)},
    {"a": normal(2, 2) / 3, "noise": between(0.5, 1, 2)},
    exact=("x",),
    loaded=0,
)
def kalman_filter(m: Any, x: tf.Tensor) -> tf.Tensor:
    zeros, eye = tf.zeros(2, x.dtype), tf.eye(2, dtype=x.dtype)
    noise = tfd.MultivariateNormalDiag(zeros, m.noise)
    start = tfd.MultivariateNormalDiag(zeros, tf.ones(2, x.dtype))
    return tfd.LinearGaussianStateSpaceModel(5, m.a, noise, eye, noise, start).log_prob(x)


@in_module(
    {"x": normal(3, 5)}, {"first": normal(2), "steps": normal(2, 2), "loc": normal(2)}, exact=("x",)
)
def hidden_markov(m: Any, x: tf.Tensor) -> tf.Tensor:
    first, steps = (tfd.Categorical(logits=logits) for logits in (m.first, m.steps))
    seen = tfd.Normal(m.loc, tf.constant(0.5, x.dtype))
    return tfd.HiddenMarkovModel(first, steps, seen, 5).log_prob(x)


@in_module({"x": normal(4, 2)}, {"scale": between(0.5, 1), "points": normal(5, 2), "y": normal(5)})
def gaussian_process(m: Any, x: tf.Tensor) -> tf.Tensor:
    kernel = tfm.psd_kernels.MaternFiveHalves(m.scale, m.scale)
    noise = tf.constant(0.1, x.dtype)
    posterior = tfd.GaussianProcessRegressionModel(
        kernel, x, m.points, m.y, observation_noise_variance=noise
    )
    return posterior.mean() + posterior.stddev()


# ---- Special functions


@in_module(UNIT, {"a": between(0.5, 3, 3)}, orders=1)
def igammainv(m: Any, x: tf.Tensor) -> dict[str, tf.Tensor]:
    return {"igammainv": tfm.igammainv(m.a, x), "igammacinv": tfm.igammacinv(m.a, x)}


@in_module(X, {"a": between(0.5, 3, 3)})
def owens_t(m: Any, x: tf.Tensor) -> tf.Tensor:
    return tfm.owens_t(x, m.a)


@in_module(POSITIVE, {"w": between(0.5, 3, 3)}, second_error=NESTED)
def inverses(m: Any, x: tf.Tensor) -> dict[str, tf.Tensor]:
    y = x * m.w
    return {
        "lambertw": tfm.lambertw(y),
        "dawsn": tfm.dawsn(y),
        "erfcx": tfm.erfcx(y),
        "logerfcx": tfm.logerfcx(y),
        "erfcinv": tfm.erfcinv(tf.sigmoid(y)),
    }


@in_module(POSITIVE, {"w": between(0.5, 3, 3)})
def gammas(m: Any, x: tf.Tensor) -> dict[str, tf.Tensor]:
    return {
        "lbeta": tfm.lbeta(x, m.w),
        "difference": tfm.log_gamma_difference(x, m.w + 8),
        "correction": tfm.log_gamma_correction(x + 8),
    }


@in_module(X, {"w": between(0.5, 3, 3)})
def logarithms(m: Any, x: tf.Tensor) -> dict[str, tf.Tensor]:
    y = x * m.w
    return {
        "log1mexp": tfm.log1mexp(y),
        "log_add_exp": tfm.log_add_exp(y, x),
        "log_sub_exp": tfm.log_sub_exp(y + 10, x),
        "log_cumsum_exp": tfm.log_cumsum_exp(y, -1),
        "log_cosh": tfm.log_cosh(y),
        "softplus_inverse": tfm.softplus_inverse(tf.abs(y) + 0.1),
        "sqrt1pm1": tfm.sqrt1pm1(tf.abs(y)),
        "clipped": tfm.clip_by_value_preserve_gradient(y, -1, 1),
    }


@in_module({"x": normal(3, 3)}, {"w": normal(3, 3)})
def algebra(m: Any, x: tf.Tensor) -> dict[str, tf.Tensor]:
    a = x @ tf.transpose(x) + m.w @ tf.transpose(m.w) + 2 * tf.eye(3, dtype=x.dtype)
    return {
        "update": tfm.cholesky_update(tf.linalg.cholesky(a), m.w[0]),
        "logdet": tfm.hpsd_logdet(a),
        "solved": tfm.hpsd_solve(a, m.w),
    }


# ---- Solvers


# The second order takes a minute.
@in_module({"x": normal(2)}, {"w": normal(2, 2)}, exact=("x",), orders=1)
def differential_equation(m: Any, x: tf.Tensor) -> tf.Tensor:
    """The gradient solves the adjoint equation."""
    solver = tfm.ode.DormandPrince(rtol=1e-3, atol=1e-3)
    constants = {"w": tf.identity(m.w)}
    times = [0.5, 1.0]
    return solver.solve(
        lambda t, y, w: tf.tanh(tf.linalg.matvec(w, y)), 0.0, x, times, constants=constants
    ).states


# A `While` in the gradient, which has no second order when it is loaded.
@in_module(X, {"w": normal(3)}, loaded=1)
def hamiltonian_monte_carlo(m: Any, x: tf.Tensor) -> tf.Tensor:
    def density(y: tf.Tensor) -> tf.Tensor:
        return tf.reduce_sum(-(m.w**2) * y**4 - y * tf.sin(y), -1)

    kernel = tfp.mcmc.HamiltonianMonteCarlo(density, tf.constant(0.1, x.dtype), 2)
    return kernel.one_step(x, kernel.bootstrap_results(x), seed=tf.constant([1, 2]))[0]
