// Gradients of special functions. DLMF is the NIST Digital Library of Mathematical Functions,
// https://dlmf.nist.gov.

#include <cmath>
#include <string>
#include <vector>

#include "tensorflow_ext/gradient/bridge/register_formula.h"
#include "tensorflow_ext/gradient/formula/formula_ops.h"
#include "tensorflow_ext/stock_gradients/math/widened.h"

namespace tensorflow_ext {
namespace {

// The polynomial with these coefficients, the constant one first, by Horner's rule.
Value Polynomial(const std::vector<double>& coefficients, Value x) {
  Value sum = x * coefficients.back();
  for (size_t k = coefficients.size() - 2; k > 0; --k) sum = (sum + coefficients[k]) * x;
  return sum + coefficients[0];
}

Value BesselOp(const char* order, Value x) { return Call(std::string("Bessel") + order, {x}); }

// ---- Error functions and integrals.

// d/dx erfc(x) = -2/sqrt(pi) exp(-x^2)    (DLMF 7.2.2)
void ErfcGrad(Gradient& g) {
  const Value x = g.Input(0), dy = g.Upstream();
  g.Return({dy * (-2 / kSqrtPi) * Exp(-Square(x))});
}
REGISTER_GRADIENT("Erfc", ErfcGrad);

// d/dx erf(x) = 2/sqrt(pi) exp(-x^2)    (DLMF 7.2.1)
void ErfGrad(Gradient& g) {
  const Value x = g.Input(0), dy = g.Upstream();
  g.Return({dy * (2 / kSqrtPi) * Exp(-Square(x))});
}
REGISTER_GRADIENT("Erf", ErfGrad);

// The inverses of erf and of the normal distribution function, whose derivatives at y are
// 2/sqrt(pi) exp(-y^2) and 1/sqrt(2 pi) exp(-y^2/2).
void ErfinvGrad(Gradient& g) { g.Return({g.Upstream() * (kSqrtPi / 2) * Exp(Square(g.Output()))}); }
REGISTER_GRADIENT("Erfinv", ErfinvGrad);
void NdtriGrad(Gradient& g) {
  g.Return({g.Upstream() * (kSqrtPi * M_SQRT2) * Exp(Square(g.Output()) * 0.5)});
}
REGISTER_GRADIENT("Ndtri", NdtriGrad);

// F'(x) = 1 - 2 x F(x)    (DLMF 7.10.4, Dawson's integral). For large x both terms are nearly the
// same, so the terms of F' of the asymptotic expansion replace them (DLMF 7.12.1 for an imaginary
// argument): with w = 1 / (2 x^2),
//   F' = -w (1 + 3 w + 3 * 5 w^2 + ...)
void DawsnGrad(Gradient& g) {
  const Value x = g.Input(0), dy = g.Upstream();
  const Value is_large = Greater(Abs(x), 30);
  const Value w = 0.5 * Square(Reciprocal(Where(is_large, x, 1)));
  const Value large = -w * Polynomial({1, 3, 15, 105, 945, 10395, 135135}, w);
  g.Return({dy * Where(is_large, large, 1 - 2 * Where(is_large, 0, x) * g.Output())});
}
REGISTER_GRADIENT("Dawsn", DawsnGrad);

// Ei'(x) = exp(x) / x    (DLMF 6.2.5)
void ExpintGrad(Gradient& g) {
  const Value x = g.Input(0), dy = g.Upstream();
  g.Return({dy * Exp(x) / x});
}
REGISTER_GRADIENT("Expint", ExpintGrad);

// C'(x) = cos(pi/2 x^2), S'(x) = sin(pi/2 x^2)    (DLMF 7.2.7, 7.2.8)
void FresnelCosGrad(Gradient& g) { g.Return({g.Upstream() * Cos(M_PI_2 * Square(g.Input(0)))}); }
REGISTER_GRADIENT("FresnelCos", FresnelCosGrad);
void FresnelSinGrad(Gradient& g) { g.Return({g.Upstream() * Sin(M_PI_2 * Square(g.Input(0)))}); }
REGISTER_GRADIENT("FresnelSin", FresnelSinGrad);

// spence(x) = Li2(1 - x), whose derivative is log(x) / (1 - x)    (DLMF 25.12.1). Near x = 1 its
// series
//   -(1 - t / 2 + t^2 / 3 - ...),  t = x - 1
// replaces the quotient, whose own derivative would be a difference of large numbers.
void SpenceGrad(Gradient& g) {
  constexpr int kTerms = 11;
  const Value x = g.Input(0), dy = g.Upstream();
  const Value is_near = Less(Abs(x - 1), 1 / 32.);
  std::vector<double> coefficients;
  for (int k = 1; k <= kTerms; ++k) coefficients.push_back((k % 2 == 0 ? 1. : -1.) / k);
  const Value series = Polynomial(coefficients, Where(is_near, x - 1, 0));
  g.Return({dy * Where(is_near, series, Log(x) / (1 - Where(is_near, 0, x)))});
}
REGISTER_GRADIENT("Spence", SpenceGrad);

// ---- Bessel functions. J, Y: DLMF 10.6.2 and 10.6.3; I, K: DLMF 10.29.2 and
// 10.29.3. With "e", I is scaled by exp(-|x|) and K by exp(x).

// J0' = -J1, Y0' = -Y1, K0' = -K1, I0' = I1.
void BesselJ0Grad(Gradient& g) { g.Return({g.Upstream() * -BesselOp("J1", g.Input(0))}); }
REGISTER_GRADIENT("BesselJ0", BesselJ0Grad);
void BesselY0Grad(Gradient& g) { g.Return({g.Upstream() * -BesselOp("Y1", g.Input(0))}); }
REGISTER_GRADIENT("BesselY0", BesselY0Grad);
void BesselK0Grad(Gradient& g) { g.Return({g.Upstream() * -BesselOp("K1", g.Input(0))}); }
REGISTER_GRADIENT("BesselK0", BesselK0Grad);
void BesselI0Grad(Gradient& g) { g.Return({g.Upstream() * BesselOp("I1", g.Input(0))}); }
REGISTER_GRADIENT("BesselI0", BesselI0Grad);

// y / x for y = J1(x) or I1(x). For small x it is the series
//   1/2 sum_k (-+ x^2 / 4)^k / (k! (k + 1)!)    (DLMF 10.2.2, 10.25.2),
// with the minus (`sign`) for J1, because derivatives of the quotient lose all digits there. For a
// scaled function, y is `scale` times that.
Value BesselQuotient(Value y, Value x, double sign, Value scale = Value()) {
  constexpr int kTerms = 10;
  std::vector<double> coefficients = {0.5};
  for (int k = 1; k < kTerms; ++k) coefficients.push_back(coefficients.back() / (k * (k + 1)));
  const Value is_small = Less(Abs(x), 1);
  const Value series = Polynomial(coefficients, Square(Where(is_small, x, 0)) * (sign / 4));
  return Where(is_small, scale.exists() ? scale * series : series, y / Where(is_small, 1, x));
}

// J1' = J0 - J1/x and I1' = I0 - I1/x.
void BesselJ1Grad(Gradient& g) {
  const Value x = g.Input(0), y = g.Output();
  g.Return({g.Upstream() * (BesselOp("J0", x) - BesselQuotient(y, x, -1))});
}
REGISTER_GRADIENT("BesselJ1", BesselJ1Grad);
void BesselI1Grad(Gradient& g) {
  const Value x = g.Input(0), y = g.Output();
  g.Return({g.Upstream() * (BesselOp("I0", x) - BesselQuotient(y, x, 1))});
}
REGISTER_GRADIENT("BesselI1", BesselI1Grad);

// Y1' = Y0 - Y1/x and K1' = -K0 - K1/x; both are infinite at 0.
void BesselY1Grad(Gradient& g) {
  const Value x = g.Input(0), y = g.Output();
  g.Return({g.Upstream() * (BesselOp("Y0", x) - y / x)});
}
REGISTER_GRADIENT("BesselY1", BesselY1Grad);
void BesselK1Grad(Gradient& g) {
  const Value x = g.Input(0), y = g.Output();
  g.Return({g.Upstream() * (-BesselOp("K0", x) - y / x)});
}
REGISTER_GRADIENT("BesselK1", BesselK1Grad);

// The same plus the derivative of the scale: -sign(x) for I, +1 for K.
void BesselI0eGrad(Gradient& g) {
  const Value x = g.Input(0), y = g.Output();
  g.Return({g.Upstream() * (BesselOp("I1e", x) - Sign(x) * y)});
}
REGISTER_GRADIENT("BesselI0e", BesselI0eGrad);
void BesselI1eGrad(Gradient& g) {
  const Value x = g.Input(0), y = g.Output();
  g.Return(
      {g.Upstream() * (BesselOp("I0e", x) - BesselQuotient(y, x, 1, Exp(-Abs(x))) - Sign(x) * y)});
}
REGISTER_GRADIENT("BesselI1e", BesselI1eGrad);
void BesselK0eGrad(Gradient& g) {
  const Value x = g.Input(0), y = g.Output();
  g.Return({g.Upstream() * (y - BesselOp("K1e", x))});
}
REGISTER_GRADIENT("BesselK0e", BesselK0eGrad);
void BesselK1eGrad(Gradient& g) {
  const Value x = g.Input(0), y = g.Output();
  g.Return({g.Upstream() * (y * (1 - Reciprocal(x)) - BesselOp("K0e", x))});
}
REGISTER_GRADIENT("BesselK1e", BesselK1eGrad);

// ---- The gamma function and its relatives.

// (log |Gamma(x)|)' = psi(x)    (DLMF 5.2.2)
void LgammaGrad(Gradient& g) { g.Return({g.Upstream() * Digamma(g.Input(0))}); }
REGISTER_GRADIENT("Lgamma", LgammaGrad);

// psi'(x) = psi^(1)(x)    (DLMF 5.15)
void DigammaGrad(Gradient& g) {
  const Value x = g.Input(0), dy = g.Upstream(), wide = Widened(x);
  const Value trigamma = Call("Polygamma", {g.Scalar(1, wide.type()), wide});
  g.Return({dy * Cast(trigamma, x.type())});
}
REGISTER_GRADIENT("Digamma", DigammaGrad);

// d/dx psi^(n)(x) = psi^(n+1)(x); the order n is discrete.
void PolygammaGrad(Gradient& g) {
  const Value n = g.Input(0), x = g.Input(1), dy = g.Upstream();
  const Value dx = dy * Call("Polygamma", {n + 1, x});
  g.Return({Value(), SumTo(x, dx, Shape(dx))});
}
REGISTER_GRADIENT("Polygamma", PolygammaGrad);

// d/dx zeta(x, q) for q > 0 by the Euler-Maclaurin formula (DLMF 25.11.5): with w = q + N and m =
// 12,
//   zeta = sum_{k < N} (q + k)^-x + w^-x T,
//   T = w / (x - 1) + 1 / 2 + sum_{j = 1}^m B_2j / (2j)! P_j,
//   P_j = x (x + 1) ... (x + 2j - 2) / w^(2j - 1),
// and each part is differentiated. P_j is element 2j - 2 of a cumulative product, whose odd
// elements have the coefficient 0.
Value ZetaByExponent(Value exponent, Value offset) {
  constexpr int kDirect = 10;
  // B_2j / (2j)!    (DLMF 24.2.1; those of 24.2(iii))
  constexpr double kCoefficients[] = {1 / 12.,
                                      -1 / 720.,
                                      1 / 30240.,
                                      -1 / 1209600.,
                                      1 / 47900160.,
                                      -691 / 1307674368000.,
                                      1 / 74724249600.,
                                      -3617 / 10670622842880000.,
                                      43867 / 5109094217170944000.,
                                      -174611 / 802857662698291200000.,
                                      77683 / 14101100039391805440000.,
                                      -236364091 / 1693824136731743669452800000.};
  std::vector<double> coefficients, direct, steps;
  for (const double coefficient : kCoefficients) {
    if (!coefficients.empty()) coefficients.push_back(0);
    coefficients.push_back(coefficient);
  }
  for (int k = 0; k < kDirect; ++k) direct.push_back(k);
  for (size_t i = 0; i < coefficients.size(); ++i) steps.push_back(i);

  Gradient* g = offset.gradient();
  const Value last = g->Int(-1);
  const auto vector = [&](const std::vector<double>& numbers) {
    return g->Vector(numbers, DT_DOUBLE);
  };
  const Value x = ExpandDims(Cast(exponent, DT_DOUBLE), last);
  const Value q = ExpandDims(Cast(offset, DT_DOUBLE), last);
  const Value base = q + vector(direct), w = q + kDirect;
  const Value log_w = Log(w), shifted = x + vector(steps);
  const Value products = Call("Cumprod", {shifted / w, last});
  const Value logarithms = Call("Cumsum", {Reciprocal(shifted), last});
  const Value series = vector(coefficients) * products;
  const Value tail = w / (x - 1) + 0.5 + Sum(series, last, true);
  const Value tail_by_x = Sum(series * logarithms, last, true) - w / Square(x - 1);
  const Value sum = -Sum(Log(base) * Exp(-x * Log(base)), last) +
                    Sum(Exp(-x * log_w) * (tail_by_x - log_w * tail), last);
  return Cast(sum, exponent.type());
}

// d/dq zeta(x, q) = -x zeta(x + 1, q)    (DLMF 25.11.17)
void ZetaGrad(Gradient& g) {
  const Value x = g.Input(0), q = g.Input(1), dy = g.Upstream();
  const Value dx = dy * ZetaByExponent(x, q);
  const Value dq = dy * -x * Call("Zeta", {x + 1, q});
  const auto [dx_sum, dq_sum] = Unbroadcast(x, dx, q, dq);
  g.Return({dx_sum, dq_sum});
}
REGISTER_GRADIENT("Zeta", ZetaGrad);

}  // namespace
}  // namespace tensorflow_ext
