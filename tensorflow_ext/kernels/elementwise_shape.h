// The shape function of an op that a functor computes (elementwise.h): it checks attributes and
// shapes.

#pragma once

#include "tensorflow/core/framework/shape_inference.h"
#include "tensorflow_ext/kernels/attributes.h"
#include "tensorflow_ext/kernels/broadcast_shape.h"
#include "tensorflow_ext/kernels/elementwise.h"
#include "tensorflow_ext/kernels/same_shape.h"

namespace tensorflow_ext {

template <typename Functor>
auto ElementwiseShapeFn(const char* op) {
  return [=](tensorflow::shape_inference::InferenceContext* c) -> absl::Status {
    Functor functor{};
    if (absl::Status s = ReadMembers(c, op, &functor); !s.ok()) return s;
    if constexpr (kBroadcasts<Functor>) {
      return BroadcastShapeFn(op)(c);
    } else {
      return SameShape(op, c, Functor::kArity);
    }
  };
}

}  // namespace tensorflow_ext
