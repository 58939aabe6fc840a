// Elementary functions for the functors of elementwise.h. They have no branches, so compilers
// vectorise the loops around them. Compilers cannot vectorise the C library's functions, and vector
// variants of those differ in the last bits. On the host a function is the same sequence of IEEE
// 754 operations in vectors of every width and in the loop's tail, so results are the same, in
// files that are compiled with -ffp-contract=off.
//
// Functions are accurate to two units in the last place unless README.md's table says otherwise.
// Infinities, zeros, NaN and arguments outside the domain give the same as C's functions (ISO/IEC
// 9899, annex F). A result below the smallest normal number may be 0, and subnormal arguments may
// count as 0: TensorFlow's threads flush subnormal numbers, other threads do not.
//
// T is float, double or, in XLA lowerings, XlaNumber (xla/functor_lowering.h), which has its own
// versions of most functions. On a GPU these are CUDA's functions, whose error bounds the CUDA C++
// Programming Guide lists.
//
// Polynomials are minimax in their relative error, to less than half a unit (found with the Remez
// exchange algorithm).

#pragma once

#include "tensorflow_ext/kernels/arithmetic.h"
#include "tensorflow_ext/kernels/error_function.h"
#include "tensorflow_ext/kernels/exponential.h"
#include "tensorflow_ext/kernels/logarithm.h"
#include "tensorflow_ext/kernels/power.h"
