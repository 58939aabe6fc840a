// TensorFlow's data types that formulas name. TensorFlow's own header comes from protobuf and costs
// every file 1.5 s of compile time.

#pragma once

namespace tensorflow {
enum DataType : int;
}

namespace tensorflow_ext {

using tensorflow::DataType;

// The numbers are those of TensorFlow's enumerators; formula_body.cc checks this.
inline constexpr DataType DT_FLOAT{1};
inline constexpr DataType DT_DOUBLE{2};
inline constexpr DataType DT_INT32{3};
inline constexpr DataType DT_COMPLEX64{8};
inline constexpr DataType DT_INT64{9};
inline constexpr DataType DT_BOOL{10};
inline constexpr DataType DT_BFLOAT16{14};
inline constexpr DataType DT_UINT16{17};
inline constexpr DataType DT_COMPLEX128{18};
inline constexpr DataType DT_HALF{19};
inline constexpr DataType DT_RESOURCE{20};
inline constexpr DataType DT_VARIANT{21};

}  // namespace tensorflow_ext
