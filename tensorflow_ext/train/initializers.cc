#include "tensorflow_ext/train/initializers.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "tensorflow/core/framework/tensor.h"
#include "tensorflow_ext/train/config.h"

namespace tensorflow_ext::train {

using tensorflow::DataType;
using tensorflow::DT_INT32;
using tensorflow::TensorShape;

namespace {

// Writes values of one type and shape.
struct Initial {
  Config* config;
  DataType type;
  TensorShape shape;
  Body* body;

  Expr Number(double value) const { return body->Constant(value, type); }

  Expr Ints(const std::vector<int64_t>& values) const {
    tensorflow::Tensor tensor(DT_INT32, {static_cast<int64_t>(values.size())});
    std::copy(values.begin(), values.end(), tensor.vec<int32_t>().data());
    return body->Constant(tensor);
  }

  Expr Sizes(const TensorShape& of) const {
    const auto sizes = of.dim_sizes();
    return Ints({sizes.begin(), sizes.end()});
  }

  void Expect(bool holds, const char* of_shape) const {
    if (holds) return;
    body->Check(absl::InvalidArgumentError(absl::StrCat("initializer: ", config->class_name(),
                                                        " expects a shape of ", of_shape, ", got ",
                                                        shape.DebugString())));
  }

  Expr Filled(double value) const { return body->Add("Fill", {Sizes(shape), Number(value)}); }

  // Draws by a stateless op, seeded as Keras does by [seed, 0].
  Expr Draw(const char* op, const TensorShape& of) const {
    const std::optional<double> given = config->MaybeNumber("seed");
    config->Check(!given || *given == std::floor(*given), "seed", "an integer");
    const int64_t limit = 2147483646;  // Keras: floormod(seed, int32.max - 1)
    const int64_t seed = given ? static_cast<int64_t>(*given) : std::random_device()();
    const Expr key =
        body->Add("StatelessRandomGetKeyCounter", {Ints({(seed % limit + limit) % limit, 0})});
    const Expr counter = Expr{body, tensorflow::Output(key.output.node(), 1)};
    return body->Add(op, {Sizes(of), key, counter, body->Add("StatelessRandomGetAlg", {})},
                     {{"dtype", TypeAttribute(type)}});
  }

  Expr Normal(double mean, double stddev) const {
    return Draw("StatelessRandomNormalV2", shape) * stddev + mean;
  }
  Expr TruncatedNormal(double mean, double stddev) const {
    return Draw("StatelessTruncatedNormalV2", shape) * stddev + mean;
  }
  // Keras rounds the bounds to float, whatever the type.
  Expr Uniform(float from, float to) const {
    return Draw("StatelessRandomUniformV2", shape) * (double{to} - double{from}) + double{from};
  }

  // The product of the sizes of axes, which may count from the end.
  double Product(const std::vector<double>& axes) const {
    double product = 1;
    for (const double axis : axes) {
      const int k = static_cast<int>(axis < 0 ? axis + shape.dims() : axis);
      config->Check(k >= 0 && k < shape.dims(), "input_axes", "axes of the shape");
      if (k >= 0 && k < shape.dims()) product *= shape.dim_size(k);
    }
    return product;
  }

  // keras.src.initializers.random_initializers.compute_fans
  std::pair<double, double> Fans() const {
    const int rank = shape.dims();
    const auto input_axes = config->MaybeNumbers("input_axes"),
               output_axes = config->MaybeNumbers("output_axes");
    if (input_axes && output_axes) return {Product(*input_axes), Product(*output_axes)};
    if (rank == 0) return {1, 1};
    if (rank == 1) return {shape.dim_size(0), shape.dim_size(0)};
    double receptive_field = 1;
    for (int i = 0; i < rank - 2; ++i) receptive_field *= shape.dim_size(i);
    return {shape.dim_size(rank - 2) * receptive_field, shape.dim_size(rank - 1) * receptive_field};
  }

  Expr Scaled(double scale, const std::string& mode, const std::string& distribution) const {
    const auto [in, out] = Fans();
    const double fan = mode == "fan_in" ? in : mode == "fan_out" ? out : (in + out) / 2;
    const double variance = scale / std::max(1.0, fan);
    // The standard deviation of a normal distribution that is truncated at 2.
    constexpr double kTruncated = 0.87962566103423978;
    if (distribution == "uniform") {
      const double limit = std::sqrt(3 * variance);
      return Uniform(-limit, limit);
    }
    if (distribution == "untruncated_normal") return Normal(0, std::sqrt(variance));
    return TruncatedNormal(0, std::sqrt(variance) / kTruncated);
  }
};

Expr VarianceScaling(const Initial& i) {
  const double scale = i.config->Number("scale", 1);
  const std::string mode = i.config->Text("mode", "fan_in"),
                    distribution = i.config->Text("distribution", "truncated_normal");
  i.config->Check(scale > 0, "scale", "a number > 0");
  i.config->Check(mode == "fan_in" || mode == "fan_out" || mode == "fan_avg", "mode",
                  "fan_in, fan_out or fan_avg");
  i.config->Check(distribution == "uniform" || distribution == "truncated_normal" ||
                      distribution == "untruncated_normal",
                  "distribution", "uniform, truncated_normal or untruncated_normal");
  return i.Scaled(scale, mode, distribution);
}

Expr Orthogonal(const Initial& i) {
  const double gain = i.config->Number("gain", 1);
  const int rank = i.shape.dims();
  i.Expect(rank >= 2, "at least two dimensions");
  if (rank < 2) return i.Filled(0);
  const int64_t columns = i.shape.dim_size(rank - 1);
  const int64_t rows = columns == 0 ? 0 : i.shape.num_elements() / columns;
  Body* const body = i.body;
  const Expr q = body->Add("Qr", {i.Draw("StatelessRandomNormalV2",
                                         {std::max(rows, columns), std::min(rows, columns)})});
  const Expr r{body, tensorflow::Output(q.output.node(), 1)};
  Expr unique = q * body->Add("Sign", {body->Add("MatrixDiagPart", {r})});
  if (rows < columns) unique = body->Add("Transpose", {unique, i.Ints({1, 0})});
  return body->Add("Reshape", {unique, i.Sizes(i.shape)}) * gain;
}

Expr IdentityMatrix(const Initial& i) {
  const double gain = i.config->Number("gain", 1);
  i.Expect(i.shape.dims() == 2, "two dimensions");
  if (i.shape.dims() != 2) return i.Filled(0);
  const Expr size = i.body->Add(
      "Fill", {i.Ints({std::min(i.shape.dim_size(0), i.shape.dim_size(1))}), i.Number(gain)});
  return i.body->Add("MatrixSetDiag", {i.Filled(0), size});
}

const std::map<std::string, Expr (*)(const Initial&)>& Makers() {
  static const auto* const makers = new std::map<std::string, Expr (*)(const Initial&)>{
      {"constant", [](const Initial& i) { return i.Filled(i.config->Number("value", 0)); }},
      {"glorotnormal", [](const Initial& i) { return i.Scaled(1, "fan_avg", "truncated_normal"); }},
      {"glorotuniform", [](const Initial& i) { return i.Scaled(1, "fan_avg", "uniform"); }},
      {"henormal", [](const Initial& i) { return i.Scaled(2, "fan_in", "truncated_normal"); }},
      {"heuniform", [](const Initial& i) { return i.Scaled(2, "fan_in", "uniform"); }},
      {"identity", IdentityMatrix},
      {"lecunnormal", [](const Initial& i) { return i.Scaled(1, "fan_in", "truncated_normal"); }},
      {"lecununiform", [](const Initial& i) { return i.Scaled(1, "fan_in", "uniform"); }},
      {"ones", [](const Initial& i) { return i.Filled(1); }},
      {"orthogonal", Orthogonal},
      {"randomnormal",
       [](const Initial& i) {
         return i.Normal(i.config->Number("mean", 0), i.config->Number("stddev", 0.05));
       }},
      {"randomuniform",
       [](const Initial& i) {
         return i.Uniform(i.config->Number("minval", -0.05), i.config->Number("maxval", 0.05));
       }},
      {"truncatednormal",
       [](const Initial& i) {
         return i.TruncatedNormal(i.config->Number("mean", 0), i.config->Number("stddev", 0.05));
       }},
      {"variancescaling", VarianceScaling},
      {"zeros", [](const Initial& i) { return i.Filled(0); }},
  };
  return *makers;
}

}  // namespace

absl::StatusOr<Expr> InitialValue(const std::string& initializer, DataType type,
                                  const TensorShape& shape, Body* body) {
  TF_ASSIGN_OR_RETURN(Config config, Config::Parse("initializer", initializer));
  // Keras also knows glorot_uniform for GlorotUniform.
  const std::string name =
      absl::StrReplaceAll(absl::AsciiStrToLower(config.class_name()), {{"_", ""}});
  const auto maker = Makers().find(name);
  if (maker == Makers().end()) {
    std::vector<std::string> names;
    for (const auto& known : Makers()) names.push_back(known.first);
    return absl::InvalidArgumentError(absl::StrCat("initializer: expected one of ",
                                                   absl::StrJoin(names, ", "), ", got '",
                                                   config.class_name(), "'"));
  }
  const Expr value = maker->second({&config, type, shape, body});
  config.Ignore("dtype");
  TF_RETURN_IF_ERROR(config.Finish());
  return value;
}

}  // namespace tensorflow_ext::train
