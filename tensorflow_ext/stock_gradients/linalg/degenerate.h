// Gradients of decompositions where eigenvalues or singular values coincide. The gradient divides
// by their differences. If a function of the factors is smooth there, it does not depend on the
// basis of the common space, and the numerators are 0, too.

#pragma once

#include "tensorflow_ext/gradient/formula/formula.h"

namespace tensorflow_ext {

// vector[..., newaxis, :]
Value RowOf(Value vector);
// |x| in the real type of x, and the Frobenius norm of each matrix, [..., 1, 1]; both constant.
Value Magnitude(Value x);
Value ConstantNorm(Value x);
// True for each matrix, [..., 1, 1], if any of its elements is.
Value AnyOfMatrix(Value condition);
// Returns `gradient`, with NaN for each matrix that is `unknown`, [..., 1, 1].
Value NanWhere(Value unknown, Value gradient);

// The eigenvalues or singular values d of a matrix A.
//
// With bases that diagonalize A, D = diag(d) is also a product of them and of A, such as V^H A V.
// Both have the same derivative if the elements of d are distinct. Where some coincide, the basis
// of their common space is arbitrary, and only the derivative of the product follows a change of
// the basis. So a formula that contains d uses `values`, which are constant there, and corrects its
// result by `change`. The corrected result has the right value and first derivative.
struct Spectrum {
  Spectrum(Value d, Value product);

  // d_j - d_i and d_i + d_j, of `values`.
  Value Differences() const;
  Value Sums() const;

  Value values;   // [..., k]
  Value change;   // [..., k, k]: 0, with the derivative of `product` within a common space
  Value size;     // the largest |d|, real, [..., 1, 1]
  Value is_zero;  // [..., k, 1]: |d| is 0 up to rounding, compared with `size`
};

// x / y, element by element, and 0 where both are 0 up to rounding.
class SafeQuotient {
 public:
  // The size of x is `x_size`, of shape [..., 1, 1], and that of y is `y_size`.
  SafeQuotient(Value x, Value x_size, Value y, Value y_size);

  Value value() const { return Over(x_); }
  // another / y, where value() is not replaced by 0.
  Value Over(Value another) const { return another * reciprocal_; }
  // The elements replaced by 0.
  Value is_replaced() const { return is_replaced_; }

 private:
  Value x_, is_replaced_, reciprocal_;
};

// True for each matrix, [..., 1, 1], if its upstream gradients do not say what its gradient is. If
// d_i = d_j and element i, j of a quotient `is_replaced` by 0, then 0 is right for functions of the
// projector on the common space and for functions of the eigenvalues alone. The derivatives dd by d
// are equal there if the second kind is smooth. If they differ and the function also `uses_basis`
// i, j, then it joins both, as V f(D) V^H does, and no upstream gradient has the slope of f.
Value IsUnknown(Value is_replaced, Value dd, Value uses_basis);

}  // namespace tensorflow_ext
