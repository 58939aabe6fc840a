// SPDX-License-Identifier: Apache-2.0
//
// Elementary functions for the functors of elementwise.h, without branches, so
// that compilers vectorise the loops around them: the C library's functions
// they cannot, and vector variants of those differ from the scalar ones in the
// last bits. On the host a function is the same sequence of IEEE 754 operations
// in vectors of every width and in the loop's tail: results depend on neither,
// in files that are compiled with -ffp-contract=off.
//
// Accurate to two units in the last place, where README.md's table does not say
// otherwise. Infinities, zeros, NaN and arguments outside the domain give what
// C's functions give (ISO/IEC 9899, annex F). A result below the smallest
// normal number may be 0, as subnormal arguments may count as 0: TensorFlow's
// threads flush subnormal numbers, others do not.
//
// T is float, double or, in XLA lowerings, XlaNumber (xla/functor_lowering.h),
// which brings its own of most functions. On a GPU they are CUDA's, whose
// bounds the CUDA C++ Programming Guide lists.
//
// Polynomials are minimax in their relative error (found with Remez' exchange
// algorithm), to less than half a unit.

#ifndef TENSORFLOW_EXT_KERNELS_ELEMENTARY_H_
#define TENSORFLOW_EXT_KERNELS_ELEMENTARY_H_

#include "tensorflow_ext/kernels/arithmetic.h"
#include "tensorflow_ext/kernels/error_function.h"
#include "tensorflow_ext/kernels/exponential.h"
#include "tensorflow_ext/kernels/logarithm.h"
#include "tensorflow_ext/kernels/power.h"

#endif  // TENSORFLOW_EXT_KERNELS_ELEMENTARY_H_
