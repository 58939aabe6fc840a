#include "tensorflow_ext/xla/xla_op.h"

#include <memory>
#include <numeric>
#include <utility>

#include "tensorflow_ext/base/compatibility.h"
#include "tensorflow_ext/xla/real_op.h"
#include "xla/shape_util.h"
#include TENSORFLOW_EXT_XLA_ARITHMETIC
#include TENSORFLOW_EXT_XLA_BUILDER
#include TENSORFLOW_EXT_XLA_CONSTANTS
#include TENSORFLOW_EXT_XLA_LOOPS
#include TENSORFLOW_EXT_XLA_MATH

namespace tensorflow_ext::xla {
namespace {

static_assert(PRED == static_cast<int>(::xla::PRED));
static_assert(S32 == static_cast<int>(::xla::S32));
static_assert(S64 == static_cast<int>(::xla::S64));
static_assert(F16 == static_cast<int>(::xla::F16));
static_assert(F32 == static_cast<int>(::xla::F32));
static_assert(F64 == static_cast<int>(::xla::F64));
static_assert(BF16 == static_cast<int>(::xla::BF16));

// `make(shape)` with the shape of x; an invalid XlaOp if x is one.
template <typename Make>
XlaOp WithShape(XlaOp x, Make&& make) {
  ::xla::XlaBuilder* builder = x.builder();
  return Own(builder->ReportErrorOrReturn([&]() -> absl::StatusOr<::xla::XlaOp> {
    TF_ASSIGN_OR_RETURN(const ::xla::Shape shape, builder->GetShape(Real(x)));
    return make(shape);
  }));
}

thread_local XlaBuilder* current_builder = nullptr;

}  // namespace

XlaBuilder* CurrentBuilder() { return current_builder; }

CurrentBuilderScope::CurrentBuilderScope(XlaBuilder* builder)
    : outer_(std::exchange(current_builder, builder)) {}
CurrentBuilderScope::~CurrentBuilderScope() { current_builder = outer_; }

// ----- Constants. -----

XlaOp ConstantR0(XlaBuilder* builder, PrimitiveType type, Constant value) {
  return std::visit(
      [&](auto number) { return Own(::xla::ConstantR0WithType(builder, Real(type), number)); },
      value);
}

XlaOp ScalarLike(XlaOp like, Constant value) {
  return WithShape(like, [&](const ::xla::Shape& shape) {
    return Real(ConstantR0(like.builder(), Own(shape.element_type()), value));
  });
}

XlaOp FullLike(XlaOp like, Constant value) {
  return WithShape(like, [&](const ::xla::Shape& shape) {
    return ::xla::Broadcast(Real(ScalarLike(like, value)), shape.dimensions());
  });
}

XlaOp ZerosLike(XlaOp like) { return Own(::xla::ZerosLike(Real(like))); }

XlaOp OfShape(XlaOp x, XlaOp like) {
  return WithShape(like, [&](const ::xla::Shape& shape) -> absl::StatusOr<::xla::XlaOp> {
    TF_ASSIGN_OR_RETURN(const ::xla::Shape own, like.builder()->GetShape(Real(x)));
    const bool is_there = own.dimensions().size() == shape.dimensions().size();
    return is_there ? Real(x) : ::xla::Broadcast(Real(x), shape.dimensions());
  });
}

XlaOp Full(XlaBuilder* builder, PrimitiveType type, Sizes sizes, Constant value) {
  return Own(::xla::Broadcast(Real(ConstantR0(builder, type, value)), sizes));
}

XlaOp Iota(XlaBuilder* builder, PrimitiveType type, Sizes sizes, int64_t dimension) {
  return Own(::xla::Iota(builder, ::xla::ShapeUtil::MakeShape(Real(type), sizes), dimension));
}

// ----- Element by element. -----

#define TENSORFLOW_EXT_XLA_UNARY(Name) \
  XlaOp Name(XlaOp x) { return Own(::xla::Name(Real(x))); }
TENSORFLOW_EXT_XLA_UNARY(Neg)
TENSORFLOW_EXT_XLA_UNARY(Not)
TENSORFLOW_EXT_XLA_UNARY(Abs)
TENSORFLOW_EXT_XLA_UNARY(Sign)
TENSORFLOW_EXT_XLA_UNARY(Exp)
TENSORFLOW_EXT_XLA_UNARY(Expm1)
TENSORFLOW_EXT_XLA_UNARY(Log)
TENSORFLOW_EXT_XLA_UNARY(Log1p)
TENSORFLOW_EXT_XLA_UNARY(Sin)
TENSORFLOW_EXT_XLA_UNARY(Cos)
TENSORFLOW_EXT_XLA_UNARY(Tanh)
TENSORFLOW_EXT_XLA_UNARY(Atan)
TENSORFLOW_EXT_XLA_UNARY(Erf)
TENSORFLOW_EXT_XLA_UNARY(Erfc)
TENSORFLOW_EXT_XLA_UNARY(Sqrt)
TENSORFLOW_EXT_XLA_UNARY(Rsqrt)
TENSORFLOW_EXT_XLA_UNARY(Floor)
TENSORFLOW_EXT_XLA_UNARY(Ceil)
TENSORFLOW_EXT_XLA_UNARY(Round)
TENSORFLOW_EXT_XLA_UNARY(RoundNearestEven)
TENSORFLOW_EXT_XLA_UNARY(IsFinite)
TENSORFLOW_EXT_XLA_UNARY(OptimizationBarrier)
#undef TENSORFLOW_EXT_XLA_UNARY

#define TENSORFLOW_EXT_XLA_BINARY(Name) \
  XlaOp Name(XlaOp x, XlaOp y) { return Own(::xla::Name(Real(x), Real(y))); }
TENSORFLOW_EXT_XLA_BINARY(Max)
TENSORFLOW_EXT_XLA_BINARY(Min)
TENSORFLOW_EXT_XLA_BINARY(Pow)
TENSORFLOW_EXT_XLA_BINARY(Add)
TENSORFLOW_EXT_XLA_BINARY(Sub)
TENSORFLOW_EXT_XLA_BINARY(Mul)
TENSORFLOW_EXT_XLA_BINARY(Div)
TENSORFLOW_EXT_XLA_BINARY(Rem)
TENSORFLOW_EXT_XLA_BINARY(And)
TENSORFLOW_EXT_XLA_BINARY(Or)
TENSORFLOW_EXT_XLA_BINARY(Xor)
TENSORFLOW_EXT_XLA_BINARY(ShiftLeft)
TENSORFLOW_EXT_XLA_BINARY(ShiftRightArithmetic)
TENSORFLOW_EXT_XLA_BINARY(ShiftRightLogical)
TENSORFLOW_EXT_XLA_BINARY(Eq)
TENSORFLOW_EXT_XLA_BINARY(Ne)
TENSORFLOW_EXT_XLA_BINARY(Lt)
TENSORFLOW_EXT_XLA_BINARY(Le)
TENSORFLOW_EXT_XLA_BINARY(Gt)
TENSORFLOW_EXT_XLA_BINARY(Ge)
#undef TENSORFLOW_EXT_XLA_BINARY

XlaOp ConvertElementType(XlaOp x, PrimitiveType type) {
  return Own(::xla::ConvertElementType(Real(x), Real(type)));
}

XlaOp BitcastConvertType(XlaOp x, PrimitiveType type) {
  return Own(::xla::BitcastConvertType(Real(x), Real(type)));
}

XlaOp Select(XlaOp condition, XlaOp on_true, XlaOp on_false) {
  return Own(::xla::Select(Real(condition), Real(on_true), Real(on_false)));
}

XlaOp Clamp(Constant min, XlaOp x, Constant max) {
  return Own(::xla::Clamp(Real(ScalarLike(x, min)), Real(x), Real(ScalarLike(x, max))));
}

// ----- Shapes. -----

XlaOp Reshape(XlaOp x, Sizes sizes) { return Own(::xla::Reshape(Real(x), sizes)); }

XlaOp BroadcastInDim(XlaOp x, Sizes sizes, Sizes dimensions) {
  return Own(::xla::BroadcastInDim(Real(x), sizes, dimensions));
}

XlaOp ConcatInDim(absl::Span<const XlaOp> parts, int64_t dimension) {
  return Own(::xla::ConcatInDim(parts[0].builder(), Real(parts), dimension));
}

XlaOp SliceInDim(XlaOp x, int64_t begin, int64_t end, int64_t dimension, int64_t stride) {
  return Own(::xla::SliceInDim(Real(x), begin, end, stride, dimension));
}

XlaOp Pad(XlaOp x, absl::Span<const Padding> dimensions) {
  ::xla::PaddingConfig config;
  for (const Padding& padding : dimensions) {
    auto* dimension = config.add_dimensions();
    dimension->set_edge_padding_low(padding.low);
    dimension->set_edge_padding_high(padding.high);
    dimension->set_interior_padding(padding.interior);
  }
  return Own(::xla::Pad(Real(x), Real(ScalarLike(x, 0)), config));
}

XlaOp DynamicSlice(XlaOp x, absl::Span<const XlaOp> start, Sizes sizes) {
  return Own(::xla::DynamicSlice(Real(x), Real(start), sizes));
}

XlaOp DynamicUpdateSlice(XlaOp x, XlaOp slice, absl::Span<const XlaOp> start) {
  return Own(::xla::DynamicUpdateSlice(Real(x), Real(slice), Real(start)));
}

// ----- Several operations. -----

PrimitiveType ElementType(XlaOp x) {
  const absl::StatusOr<::xla::Shape> shape = x.builder()->GetShape(Real(x));
  return shape.ok() ? Own(shape->element_type()) : F32;
}

XlaOp ReduceSum(XlaOp x, Sizes dimensions) {
  return WithShape(x, [&](const ::xla::Shape& shape) {
    const ::xla::PrimitiveType type = shape.element_type();
    return ::xla::Reduce(Real(x), ::xla::Zero(x.builder(), type),
                         ::xla::CreateScalarAddComputation(type, x.builder()), dimensions);
  });
}

XlaOp ReduceSumAll(XlaOp x) {
  return WithShape(x, [&](const ::xla::Shape& shape) {
    const ::xla::PrimitiveType type = shape.element_type();
    return ::xla::ReduceAll(Real(x), ::xla::Zero(x.builder(), type),
                            ::xla::CreateScalarAddComputation(type, x.builder()));
  });
}

XlaOp ReduceMax(XlaOp x, Sizes dimensions) {
  return WithShape(x, [&](const ::xla::Shape& shape) {
    const ::xla::PrimitiveType type = shape.element_type();
    return ::xla::Reduce(Real(x), ::xla::MinValue(x.builder(), type),
                         ::xla::CreateScalarMaxComputation(type, x.builder()), dimensions);
  });
}

XlaOp ReduceMaxAll(XlaOp x, Constant least) {
  return WithShape(x, [&](const ::xla::Shape& shape) {
    return ::xla::ReduceAll(Real(x), Real(ScalarLike(x, least)),
                            ::xla::CreateScalarMaxComputation(shape.element_type(), x.builder()));
  });
}

XlaOp ReduceWindowSum(XlaOp x, Sizes window, Sizes strides) {
  return WithShape(x, [&](const ::xla::Shape& shape) {
    const ::xla::PrimitiveType type = shape.element_type();
    return ::xla::ReduceWindow(Real(x), ::xla::Zero(x.builder(), type),
                               ::xla::CreateScalarAddComputation(type, x.builder()), window,
                               strides, ::xla::Padding::kValid);
  });
}

XlaOp BatchDotTransposed(XlaOp x, XlaOp y) {
  return WithShape(x, [&](const ::xla::Shape& shape) {
    const int64_t matrix = shape.dimensions().size() - 2;
    ::xla::DotDimensionNumbers dimensions;
    for (int64_t d = 0; d < matrix; ++d) {
      dimensions.add_lhs_batch_dimensions(d);
      dimensions.add_rhs_batch_dimensions(d);
    }
    dimensions.add_lhs_contracting_dimensions(matrix + 1);
    dimensions.add_rhs_contracting_dimensions(matrix + 1);
    ::xla::PrecisionConfig precision;
    precision.add_operand_precision(::xla::PrecisionConfig::HIGHEST);
    precision.add_operand_precision(::xla::PrecisionConfig::HIGHEST);
    return ::xla::DotGeneral(Real(x), Real(y), dimensions, &precision);
  });
}

namespace {

// The dimensions of GatherNd and ScatterAddNd.
struct NdIndices {
  int64_t vector_dimension;          // the dimension of the K indices
  std::vector<int64_t> indexed;      // 0 to K - 1: the dimensions of x
  std::vector<int64_t> following;    // the result's dimensions for x's others
  std::vector<int64_t> slice_sizes;  // of the slice at one index
};

absl::StatusOr<NdIndices> ReadIndices(XlaOp x, XlaOp indices) {
  TF_ASSIGN_OR_RETURN(const ::xla::Shape shape, x.builder()->GetShape(Real(x)));
  TF_ASSIGN_OR_RETURN(const ::xla::Shape indices_shape, x.builder()->GetShape(Real(indices)));
  NdIndices nd;
  nd.vector_dimension = indices_shape.dimensions().size() - 1;
  nd.indexed.resize(indices_shape.dimensions(nd.vector_dimension));
  std::iota(nd.indexed.begin(), nd.indexed.end(), 0);
  nd.following.resize(shape.dimensions().size() - nd.indexed.size());
  std::iota(nd.following.begin(), nd.following.end(), nd.vector_dimension);
  nd.slice_sizes.assign(shape.dimensions().begin(), shape.dimensions().end());
  for (const int64_t d : nd.indexed) nd.slice_sizes[d] = 1;
  return nd;
}

}  // namespace

XlaOp GatherNd(XlaOp x, XlaOp indices) {
  return Own(x.builder()->ReportErrorOrReturn([&]() -> absl::StatusOr<::xla::XlaOp> {
    TF_ASSIGN_OR_RETURN(const NdIndices nd, ReadIndices(x, indices));
    ::xla::GatherDimensionNumbers numbers;
    numbers.set_index_vector_dim(nd.vector_dimension);
    for (const int64_t d : nd.indexed) {
      numbers.add_collapsed_slice_dims(d);
      numbers.add_start_index_map(d);
    }
    for (const int64_t d : nd.following) numbers.add_offset_dims(d);
    return ::xla::Gather(Real(x), Real(indices), numbers, nd.slice_sizes);
  }));
}

XlaOp ScatterAddNd(XlaOp x, XlaOp indices, XlaOp updates) {
  return Own(x.builder()->ReportErrorOrReturn([&]() -> absl::StatusOr<::xla::XlaOp> {
    TF_ASSIGN_OR_RETURN(const NdIndices nd, ReadIndices(x, indices));
    ::xla::ScatterDimensionNumbers numbers;
    numbers.set_index_vector_dim(nd.vector_dimension);
    for (const int64_t d : nd.indexed) {
      numbers.add_inserted_window_dims(d);
      numbers.add_scatter_dims_to_operand_dims(d);
    }
    for (const int64_t d : nd.following) numbers.add_update_window_dims(d);
    return ::xla::Scatter(Real(x), Real(indices), Real(updates),
                          ::xla::CreateScalarAddComputation(Real(ElementType(x)), x.builder()),
                          numbers);
  }));
}

absl::StatusOr<std::vector<XlaOp>> WhileLoop(const char* name,
                                             const std::function<XlaOp(State)>& condition,
                                             const std::function<std::vector<XlaOp>(State)>& body,
                                             State initial) {
  TF_ASSIGN_OR_RETURN(
      const std::vector<::xla::XlaOp> result,
      ::xla::WhileLoopHelper(
          [&](absl::Span<const ::xla::XlaOp> state, XlaBuilder*) -> absl::StatusOr<::xla::XlaOp> {
            return Real(condition(Own(state)));
          },
          [&](absl::Span<const ::xla::XlaOp> state, XlaBuilder*)
              -> absl::StatusOr<std::vector<::xla::XlaOp>> { return Real(body(Own(state))); },
          Real(initial), name, initial[0].builder()));
  return Own(result);
}

absl::StatusOr<XlaOp> Conditional(XlaOp predicate,
                                  const std::function<absl::StatusOr<XlaOp>(State)>& on_true,
                                  const std::function<absl::StatusOr<XlaOp>(State)>& on_false,
                                  State operands) {
  XlaBuilder* builder = predicate.builder();
  const ::xla::XlaOp tuple = ::xla::Tuple(builder, Real(operands));
  TF_ASSIGN_OR_RETURN(const ::xla::Shape shape, builder->GetShape(tuple));
  const auto branch = [&](const auto& function,
                          const char* name) -> absl::StatusOr<::xla::XlaComputation> {
    const std::unique_ptr<XlaBuilder> inner = builder->CreateSubBuilder(name);
    const ::xla::XlaOp parameter = ::xla::Parameter(inner.get(), 0, shape, "operands");
    std::vector<XlaOp> inputs;
    for (size_t i = 0; i < operands.size(); ++i) {
      inputs.push_back(Own(::xla::GetTupleElement(parameter, i)));
    }
    TF_ASSIGN_OR_RETURN(const XlaOp result, function(inputs));
    return inner->Build(Real(result));
  };
  TF_ASSIGN_OR_RETURN(const ::xla::XlaComputation true_branch, branch(on_true, "on_true"));
  TF_ASSIGN_OR_RETURN(const ::xla::XlaComputation false_branch, branch(on_false, "on_false"));
  return Own(::xla::Conditional(Real(predicate), tuple, true_branch, tuple, false_branch));
}

}  // namespace tensorflow_ext::xla
