#include <algorithm>
#include <vector>

#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow_ext/gradient/bridge/registration.h"
#include "tensorflow_ext/kernels/typed_op.h"
#include "tensorflow_ext/ops/clip_by_global_norm/clip_by_global_norm.h"
#include "tensorflow_ext/ops/clip_by_global_norm/clip_by_global_norm_checks.h"

namespace tensorflow_ext {
namespace {

// The arguments of both ops; the forward op has no gradients.
struct Arguments {
  std::vector<int64_t> sizes;
  std::vector<const void*> values, gradients;
  double clip_norm = 0;
};

// Scratch of both ops: `sums` for each unit, and `factors`.
struct Scratch {
  Tensor tensor;
  NormSums* sums = nullptr;
  ClipGradFactors* factors = nullptr;
};

absl::Status AllocateScratch(OpKernelContext* context, int64_t units, Scratch* scratch) {
  const int64_t bytes = units * sizeof(NormSums) + sizeof(ClipGradFactors);
  TF_RETURN_IF_ERROR(
      context->allocate_temp(tensorflow::DT_UINT8, TensorShape({bytes}), &scratch->tensor));
  scratch->sums = static_cast<NormSums*>(Data(&scratch->tensor));
  scratch->factors = reinterpret_cast<ClipGradFactors*>(scratch->sums + units);
  return absl::OkStatus();
}

class ClipOpBase : public TypedOp {
 public:
  using TypedOp::TypedOp;

 protected:
  // Reads `count` values, starting at input `first`, and clip_norm after them.
  absl::Status ReadValues(OpKernelContext* context, int first, int count,
                          Arguments* arguments) const {
    for (int i = 0; i < count; ++i) {
      const Tensor& value = context->input(first + i);
      arguments->sizes.push_back(value.NumElements());
      arguments->values.push_back(Data(value));
    }
    return ReadClipNorm(type_string(), context->input(first + count), &arguments->clip_norm);
  }
};

// ----- On the CPU -----

// The sums go from the first unit to the last. The outputs go from the last to the first, because
// the values read last are still in the caches.
enum class Order { kFirstToLast, kLastToFirst };

// Calls fn(unit, tensor, start, size) for all units of the tensors, in parallel. start is the index
// of the unit's first element in its tensor. `bytes` is the memory traffic per element.
template <typename Fn>
void ForUnits(OpKernelContext* context, const std::vector<int64_t>& sizes, Order order,
              int64_t bytes, const Fn& fn) {
  std::vector<int64_t> first(1, 0);  // first units, then the total
  int64_t elements = 0;
  for (const int64_t size : sizes) {
    first.push_back(first.back() + UnitsOf(size));
    elements += size;
  }
  const int64_t units = first.back();
  if (units == 0) return;
  // The loops wait for memory, at 8 bytes a cycle. The calls of a unit cost extra.
  const int64_t unit_cost = bytes * (elements / units) / 8 + 100;
  Parallel(context, units, unit_cost, [&](int64_t begin, int64_t end) {
    const auto unit_of = [&](int64_t i) {
      return order == Order::kFirstToLast ? i : units - 1 - i;
    };
    int64_t tensor =
        std::upper_bound(first.begin(), first.end(), unit_of(begin)) - first.begin() - 1;
    for (int64_t i = begin; i < end; ++i) {
      const int64_t unit = unit_of(i);
      while (unit < first[tensor]) --tensor;
      while (unit >= first[tensor + 1]) ++tensor;
      const int64_t start = (unit - first[tensor]) * kUnitSize;
      fn(unit, tensor, start, std::min(kUnitSize, sizes[tensor] - start));
    }
  });
}

int64_t SizeOf(NumericType type) {
  return DispatchFloating(type, [](auto tag) -> int64_t { return sizeof(TypeOf<decltype(tag)>); });
}

// Both ops on the CPU: first the sums over all units, then the outputs.
class ClipCpuOpBase : public ClipOpBase {
 public:
  explicit ClipCpuOpBase(OpKernelConstruction* context)
      : ClipOpBase(context), element_size_(SizeOf(type_)) {}

 protected:
  absl::Status ComputeNorm(OpKernelContext* context, const Arguments& arguments,
                           GlobalNorm* norm) const {
    int64_t units = 0;
    for (const int64_t size : arguments.sizes) units += UnitsOf(size);
    Scratch scratch;
    TF_RETURN_IF_ERROR(AllocateScratch(context, units, &scratch));
    const bool has_gradients = !arguments.gradients.empty();
    ForUnits(context, arguments.sizes, Order::kFirstToLast, (has_gradients ? 2 : 1) * element_size_,
             [&](int64_t unit, int64_t tensor, int64_t start, int64_t size) {
               scratch.sums[unit] = NormSumsCpu(
                   type_, At(arguments.values[tensor], start),
                   has_gradients ? At(arguments.gradients[tensor], start) : nullptr, size);
             });
    NormSums total = {};
    for (int64_t u = 0; u < units; ++u) AddUnit(scratch.sums[u], &total);
    *norm = ToGlobalNorm(total);
    return absl::OkStatus();
  }

  // The address of element `index` of a tensor.
  const void* At(const void* data, int64_t index) const {
    return static_cast<const char*>(data) + index * element_size_;
  }
  void* At(void* data, int64_t index) const {
    return static_cast<char*>(data) + index * element_size_;
  }

  absl::Status SetScalar(OpKernelContext* context, int index, double value) const {
    Tensor* output = nullptr;
    TF_RETURN_IF_ERROR(context->allocate_output(index, TensorShape({}), &output));
    DispatchFloating(type_, [&](auto tag) {
      using T = TypeOf<decltype(tag)>;
      *static_cast<T*>(Data(output)) = FromCompute<T>(static_cast<ComputeType<T>>(value));
    });
    return absl::OkStatus();
  }

  const int64_t element_size_;
};

class ClipCpuOp final : public ClipCpuOpBase {
 public:
  using ClipCpuOpBase::ClipCpuOpBase;

  void Compute(OpKernelContext* context) override {
    const int count = context->num_inputs() - 1;
    Arguments arguments;
    OP_REQUIRES_OK(context, ReadValues(context, 0, count, &arguments));
    GlobalNorm global;
    OP_REQUIRES_OK(context, ComputeNorm(context, arguments, &global));
    OP_REQUIRES_OK(context, SetScalar(context, count, global.norm));
    const double scale = ClipScale(global.norm, arguments.clip_norm);
    if (scale == 1) {
      for (int i = 0; i < count; ++i) context->set_output(i, context->input(i));
      return;
    }
    std::vector<void*> outputs(count);
    for (int i = 0; i < count; ++i) {
      Tensor* output = nullptr;
      OP_REQUIRES_OK(context, context->forward_input_or_allocate_output(
                                  {i}, i, context->input(i).shape(), &output));
      outputs[i] = Data(output);
    }
    ForUnits(context, arguments.sizes, Order::kLastToFirst, 2 * element_size_,
             [&](int64_t, int64_t tensor, int64_t start, int64_t size) {
               ScaleValuesCpu(type_, At(arguments.values[tensor], start), scale,
                              At(outputs[tensor], start), size);
             });
  }
};
REGISTER_KERNEL_BUILDER(Name("TfExt>ClipByGlobalNorm").Device(DEVICE_CPU), ClipCpuOp);

// Reads the gradients too. There are as many as values.
absl::Status ReadGradients(const OpKernel& op, OpKernelContext* context, int count,
                           Arguments* arguments) {
  for (int i = 0; i < count; ++i) {
    const Tensor& gradient = context->input(i);
    TF_RETURN_IF_ERROR(CheckClippedGradient(op.type_string(), i, gradient.shape(),
                                            context->input(count + 1 + i).shape()));
    arguments->gradients.push_back(Data(gradient));
  }
  return CheckRank(op.type_string(), "norm_gradient", context->input(count).shape(), 0, kScalar);
}

class ClipGradCpuOp final : public ClipCpuOpBase {
 public:
  using ClipCpuOpBase::ClipCpuOpBase;

  void Compute(OpKernelContext* context) override {
    const int count = context->num_inputs() / 2 - 1;
    Arguments arguments;
    OP_REQUIRES_OK(context, ReadValues(context, count + 1, count, &arguments));
    OP_REQUIRES_OK(context, ReadGradients(*this, context, count, &arguments));
    GlobalNorm global;
    OP_REQUIRES_OK(context, ComputeNorm(context, arguments, &global));
    const ClipGradFactors factors =
        MakeClipGradFactors(global, arguments.clip_norm, HostScalar(context->input(count)));
    OP_REQUIRES_OK(context, SetScalar(context, count, factors.clip_norm));
    if (factors.scale == 1 && factors.along == 0) {
      for (int i = 0; i < count; ++i) context->set_output(i, context->input(i));
      return;
    }
    std::vector<void*> outputs(count);
    for (int i = 0; i < count; ++i) {
      Tensor* output = nullptr;
      OP_REQUIRES_OK(context, context->forward_input_or_allocate_output(
                                  {i, count + 1 + i}, i, context->input(i).shape(), &output));
      outputs[i] = Data(output);
    }
    ForUnits(context, arguments.sizes, Order::kLastToFirst, 3 * element_size_,
             [&](int64_t, int64_t tensor, int64_t start, int64_t size) {
               ClipGradValuesCpu(type_, At(arguments.gradients[tensor], start),
                                 At(arguments.values[tensor], start), factors,
                                 At(outputs[tensor], start), size);
             });
  }
};
REGISTER_KERNEL_BUILDER(Name("TfExt>ClipByGlobalNormGrad").Device(DEVICE_CPU), ClipGradCpuOp);

// ----- On the GPU -----

#if TENSORFLOW_EXT_CUDA
// Both ops on the GPU.
class ClipGpuOp final : public ClipOpBase {
 public:
  explicit ClipGpuOp(OpKernelConstruction* context)
      : ClipOpBase(context), is_gradient_(context->num_outputs() != context->num_inputs()) {}

  void Compute(OpKernelContext* context) override {
    const int count = context->num_outputs() - 1;
    const int first = is_gradient_ ? count + 1 : 0;
    Arguments arguments;
    OP_REQUIRES_OK(context, ReadValues(context, first, count, &arguments));
    if (is_gradient_) {
      OP_REQUIRES_OK(context, ReadGradients(*this, context, count, &arguments));
    }
    std::vector<void*> outputs(count);
    for (int i = 0; i < count; ++i) {
      Tensor* output = nullptr;
      OP_REQUIRES_OK(context, context->forward_input_or_allocate_output(
                                  {i, first + i}, i, context->input(i).shape(), &output));
      outputs[i] = Data(output);
    }
    Tensor* scalar = nullptr;
    OP_REQUIRES_OK(context, context->allocate_output(count, TensorShape({}), &scalar));
    const ClipTensors tensors = {count, arguments.sizes.data(), arguments.values.data(),
                                 is_gradient_ ? arguments.gradients.data() : nullptr,
                                 outputs.data()};
    Scratch scratch;
    OP_REQUIRES_OK(context, AllocateScratch(context, TotalUnits(tensors), &scratch));
    const int error =
        is_gradient_ ? LaunchClipByGlobalNormGrad(type_, tensors, Data(context->input(count)),
                                                  arguments.clip_norm, scratch.sums,
                                                  scratch.factors, Data(scalar), GpuStream(context))
                     : LaunchClipByGlobalNorm(type_, tensors, arguments.clip_norm, scratch.sums,
                                              scratch.factors, Data(scalar), GpuStream(context));
    OP_REQUIRES_OK(context, LaunchStatus(*this, error));
  }

 private:
  const bool is_gradient_;
};
REGISTER_KERNEL_BUILDER(Name("TfExt>ClipByGlobalNorm").Device(DEVICE_GPU).HostMemory("clip_norm"),
                        ClipGpuOp);
REGISTER_KERNEL_BUILDER(
    Name("TfExt>ClipByGlobalNormGrad").Device(DEVICE_GPU).HostMemory("clip_norm"), ClipGpuOp);
#endif

}  // namespace
}  // namespace tensorflow_ext
