// The incomplete gamma and beta functions, to any order in all of their arguments. The derivatives
// for x are the densities of the gamma and the beta distribution. The derivatives for the
// parameters have no closed form. They are integrals, computed by a quadrature of fixed size that
// is itself differentiable. DLMF is the NIST Digital Library of Mathematical Functions,
// https://dlmf.nist.gov.

#include <cmath>
#include <utility>
#include <vector>

#include "tensorflow_ext/gradient/bridge/register_formula.h"
#include "tensorflow_ext/gradient/formula/formula_ops.h"
#include "tensorflow_ext/stock_gradients/math/widened.h"

namespace tensorflow_ext {
namespace {

// ---- Quadrature

// Nodes s and weights for integrals over (0, inf) of functions that go to 0 like exp(-s) or faster
// and may be singular at 0: the trapezoidal rule in u, s = exp(u - exp(-u)) (H. Takahasi and M.
// Mori, "Double exponential formulas for numerical integration", 1974). With these 83 nodes the
// derivatives below are right to 9 digits for parameters from 0.001 to 1000.
struct Quadrature {
  explicit Quadrature(Gradient* g) {
    constexpr double kStep = 0.1, kFirst = -3.7;
    constexpr int kCount = 83;
    std::vector<double> s, w;
    for (int i = 0; i < kCount; ++i) {
      const double u = kFirst + kStep * i;
      s.push_back(std::exp(u - std::exp(-u)));
      w.push_back(kStep * s.back() * (1 + std::exp(-u)));
    }
    nodes = g->Vector(s, DT_DOUBLE);
    weights = g->Vector(w, DT_DOUBLE);
  }
  Value nodes, weights;
};

// x in double precision with an axis for the nodes, and the sum over them.
Value ForNodes(Value x) { return ExpandDims(Cast(x, DT_DOUBLE), x.gradient()->Int(-1)); }
Value SumOverNodes(Value x) { return Sum(x, x.gradient()->Int(-1)); }

// ---- The gamma function: P(a, x)    (DLMF 8.2.4)

// x^u at x = 0, to any order in x. At u = 0 it falls from 1 to 0, so its derivative by u is -inf,
// as that of 1 - sqrt(u).
Value PowerOfZero(Value zero, Value u) {
  const Value is_zero = Equal(u, 0);
  return Where(is_zero, 1 - Sqrt(Where(is_zero, u, 1)), Pow(zero, u));
}

// p(a, x) = d/dx P = exp(-x) x^(a-1) / Gamma(a) (DLMF 8.8.13), in logarithms because x^(a-1) and
// Gamma(a) overflow long before their quotient does. The logarithm has no derivative at the ends,
// 0 and infinity.
Value GammaDensity(Value a, Value x) {
  const Value is_zero = Equal(x, 0), is_infinite = Equal(x, INFINITY);
  const Value zero = Where(is_zero, x, 1), inside = Where(LogicalOr(is_zero, is_infinite), 1, x);
  return Where(is_zero, PowerOfZero(zero, a - 1) * Exp(-zero - Lgamma(a)),
               Where(is_infinite, 0, Exp((a - 1) * Log(inside) - inside - Lgamma(a))));
}

// d/da log p(a, x)
Value GammaScore(Value a, Value x) { return Log(x) - Digamma(a); }

// d^2/da^2 P / p(a, x) for x > 0, in double: the integral of
//   p(a, t) h(log t),  h(l) = (l - psi(a))^2 - psi'(a),
// over (0, x), or minus the integral over (x, inf), because the whole is 0. Uses the one without
// the peak of p at about a. With t = x exp(d), it is the integral over d of
//   x exp(a d - x (exp(d) - 1)) h(log x + d),
// where d = -s / rate below x and log(1 + s / rate) above. Any rate works; this one is the rate of
// the decay.
Value SecondByShape(Value shape, Value argument) {
  const Quadrature quadrature(shape.gradient());
  const Value a = ForNodes(shape), x = ForNodes(argument);
  const Value is_below = Less(x, a);
  const Value smaller = Minimum(a, x);
  const Value rate = StopGradient(Abs(x - a) + Minimum(smaller, Sqrt(smaller)));
  const Value step = quadrature.nodes / rate;
  const Value d = Where(is_below, -step, Log1p(step));
  const Value measure = Where(is_below, x, -x / (1 + step));
  const Value trigamma = Call("Polygamma", {shape.gradient()->Scalar(1, DT_DOUBLE), a});
  const Value h = Square(Log(x) + d - Digamma(a)) - trigamma;
  return SumOverNodes(quadrature.weights / rate * measure * Exp(a * d - x * Expm1(d)) * h);
}

std::pair<Value, Value> IncompleteGammaGrad(Value a, Value x, Value dy) {
  const Value by_a = Cast(Call("IgammaGradA", {Widened(a), Widened(x)}), a.type());
  return Unbroadcast(a, dy * by_a, x, dy * GammaDensity(a, x));
}
void IgammaGrad(Gradient& g) {
  const auto [da, dx] = IncompleteGammaGrad(g.Input(0), g.Input(1), g.Upstream());
  g.Return({da, dx});
}
REGISTER_GRADIENT("Igamma", IgammaGrad);

// Q(a, x) = 1 - P(a, x)    (DLMF 8.2.5)
void IgammacGrad(Gradient& g) {
  const auto [da, dx] = IncompleteGammaGrad(g.Input(0), g.Input(1), -g.Upstream());
  g.Return({da, dx});
}
REGISTER_GRADIENT("Igammac", IgammacGrad);

// IgammaGradA(a, x) = d/da P, which is 0 for all a at x = 0 and infinity. Its derivative by x,
// d/da p, is 0 there, too, except -inf for a <= 1 at x = 0.
void IgammaGradAGrad(Gradient& g) {
  const Value a = g.Input(0), end = g.Input(1), dy = g.Upstream();
  const Value is_inside = LogicalAnd(Greater(end, 0), Less(end, INFINITY));
  const Value x = Where(is_inside, end, 1);
  const Value density = Where(is_inside, GammaDensity(a, x), 0);
  const Value by_a = density * Cast(SecondByShape(a, x), a.type());
  const Value is_flat = LogicalOr(Greater(a, 1), Greater(end, 0));
  const Value at_end = Where(is_flat, g.Scalar(0, a.type()), -INFINITY);
  const Value by_x = Where(is_inside, density * GammaScore(a, x), at_end);
  const auto [da, dx] = Unbroadcast(a, dy * by_a, end, dy * by_x);
  g.Return({da, dx});
}
REGISTER_GRADIENT("IgammaGradA", IgammaGradAGrad);

// RandomGammaGrad(a, x) = -(d/da P) / p(a, x) =: r, the derivative of the sample x with respect to
// the shape a of its distribution.
void RandomGammaGradGrad(Gradient& g) {
  const Value a = g.Input(0), x = g.Input(1), r = g.Output(), dy = g.Upstream();
  const Value score = GammaScore(a, x);
  const Value by_a = -Cast(SecondByShape(a, x), a.type()) - r * score;
  const Value by_x = -score - r * ((a - 1) / x - 1);
  const auto [da, dx] = Unbroadcast(a, dy * by_a, x, dy * by_x);
  g.Return({da, dx});
}
REGISTER_GRADIENT("RandomGammaGrad", RandomGammaGradGrad);

// ---- The beta function: I_x(a, b)    (DLMF 8.17.2)

Value LogBeta(Value a, Value b) { return Lgamma(a) + Lgamma(b) - Lgamma(a + b); }

// The derivatives of I_x(a, b) for a and b, for 0 < x < 1. With the density p of the beta
// distribution they are the integrals over (0, x) of
//   p(t) (log t - psi(a) + psi(a + b)),
//   p(t) (log(1 - t) - psi(b) + psi(a + b)).
// As I_x(a, b) = 1 - I_y(b, a), y = 1 - x (DLMF 8.17.4), x and y are swapped where x is above the
// mean, which keeps the peak outside. Then
//   t = x exp(-s / rate).
// Any rate works; this one is the rate of the decay.
std::pair<Value, Value> IncompleteBetaByParameters(Value first, Value second, Value argument) {
  const Quadrature quadrature(first.gradient());
  const Value is_below = Less(argument * (first + second), first);
  const Value given = ForNodes(argument);
  const auto ordered = [](Value condition, Value u, Value v) {
    return std::pair(Where(condition, u, v), Where(condition, v, u));
  };
  const Value stays = ExpandDims(is_below, first.gradient()->Int(-1));
  const auto [a, b] = ordered(stays, ForNodes(first), ForNodes(second));
  const auto [x, y] = ordered(stays, given, 1 - given);
  const Value odds = x / y;
  const Value rate = StopGradient(Abs(a - b * odds) + Minimum(a, Sqrt(b * x) / y));
  const Value step = quadrature.nodes / rate;
  const Value ratio = Log1p(-Expm1(-step) * odds);  // (1 - t) / y
  const Value density = Exp(a * Log(x) + (b - 1) * Log(y) - LogBeta(a, b));
  const Value factor = density * quadrature.weights / rate * Exp((b - 1) * ratio - a * step);
  const Value both = Digamma(a + b);
  const Value by_a = SumOverNodes(factor * (Log(x) - step - Digamma(a) + both));
  const Value by_b = SumOverNodes(factor * (Log(y) + ratio - Digamma(b) + both));
  return {Where(is_below, by_a, -by_b), Where(is_below, by_b, -by_a)};
}

// d/dx I_x(a, b) = p = x^(a-1) (1-x)^(b-1) / B(a, b)    (DLMF 8.17.1). The derivatives for a and b
// are 0 at the ends, where their derivatives by x are those of p for a and b.
void BetaincGrad(Gradient& g) {
  const Value a = g.Input(0), b = g.Input(1), x = g.Input(2), dy = g.Upstream();
  const Value is_zero = Equal(x, 0), is_one = Equal(x, 1), log_beta = LogBeta(a, b);
  const auto density_at = [&](Value zero, Value u, Value v) {
    return PowerOfZero(zero, u - 1) * Exp((v - 1) * Log1p(-zero) - log_beta);
  };
  const Value inside = Where(LogicalOr(is_zero, is_one), 0.5, x);
  const Value density =
      Where(is_zero, density_at(Where(is_zero, x, 0.5), a, b),
            Where(is_one, density_at(Where(is_one, 1 - x, 0.5), b, a),
                  Exp((a - 1) * Log(inside) + (b - 1) * Log1p(-inside) - log_beta)));
  const Value dx = dy * density;
  const Value shape = Shape(dx);
  const Value is_inside = LogicalAnd(Greater(x, 0), Less(x, 1));
  const auto [by_a, by_b] = IncompleteBetaByParameters(a, b, Where(is_inside, x, 0.5));
  const Value both = Digamma(a + b), change = x - StopGradient(x);  // change is 0
  const auto gradient = [&](Value parameter, Value derivative, Value log) {
    const Value slope = MulNoNan(log - Digamma(parameter) + both, density);
    const Value any =
        Where(is_inside, Cast(derivative, x.type()), MulNoNan(StopGradient(slope), change));
    return SumTo(parameter, dy * any, shape);
  };
  const Value end = Where(is_inside, 0.5, x);
  g.Return({gradient(a, by_a, Log(end)), gradient(b, by_b, Log1p(-end)), SumTo(x, dx, shape)});
}
REGISTER_GRADIENT("Betainc", BetaincGrad);

}  // namespace
}  // namespace tensorflow_ext
