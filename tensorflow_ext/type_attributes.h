// The attribute `T` of ops and of their gradients, named by the types that it admits: for .Attr()
// of REGISTER_OP and for FunctionDefHelper::Define.

#pragma once

namespace tensorflow_ext {

// The real floating types.
inline constexpr char kFloatingT[] = "T: {half, bfloat16, float, double}";

// These and the signed integers.
inline constexpr char kNumericT[] = "T: {half, bfloat16, float, double, int32, int64}";

}  // namespace tensorflow_ext
