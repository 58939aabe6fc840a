// Sums of products over labelled axes. C = einsum("a,b->c", A, B) is linear in each operand: dA =
// einsum("c,b->a", dC, conj B), and the same for B.

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tensorflow_ext/gradient/bridge/register_formula.h"
#include "tensorflow_ext/gradient/formula/formula.h"
#include "tensorflow_ext/gradient/formula/formula_ops.h"

namespace tensorflow_ext {
namespace {

constexpr char kEllipsis[] = "...";

// The axis labels of the operands and of the result in "ab,bc->ac". An ellipsis means axes that
// broadcast.
struct Equation {
  std::vector<std::string> operands;
  std::string result;
};

Equation Parse(const std::string& equation) {
  const std::vector<std::string> sides = absl::StrSplit(equation, "->");
  if (sides.size() != 2) return {};
  return {absl::StrSplit(sides[0], ','), sides[1]};
}

bool HasEllipsis(const std::string& labels) { return labels.find(kEllipsis) != std::string::npos; }

// The labels of one operand, grouped as its gradient needs them.
struct Labels {
  Labels(const std::string& labels, const std::string& others) : all(labels) {
    const int size = static_cast<int>(labels.size());
    const bool broadcasts = HasEllipsis(labels);
    const int ellipsis = broadcasts ? static_cast<int>(labels.find('.')) : size;
    for (int i = 0; i < size; ++i) {
      const char label = labels[i];
      if (label == '.') continue;
      const bool is_known = others.find(label) != std::string::npos;
      std::string& list = is_known ? kept : summed;
      if (list.find(label) != std::string::npos) continue;
      list += label;
      if (!is_known) summed_axes.push_back(i > ellipsis ? i - size : i);
    }
  }

  // The shape of the axes that broadcast, for the operand `x`.
  Value BroadcastShape(Value x) const {
    const auto begin = static_cast<int64_t>(all.find(kEllipsis));
    const int64_t behind = static_cast<int64_t>(all.size()) - begin - 3;
    return SliceVector(Shape(x), begin, behind == 0 ? kToTheEnd : -behind);
  }

  const std::string all;
  // The labels that others have too, each once; and the labels that only this operand has, over
  // which the op sums, with their axes.
  std::string kept, summed;
  std::vector<int> summed_axes;
};

// The sum of `x` over axes that were broadcast, in this shape.
Value SumToShape(Value x, Value shape) {
  const Values axes = CallAll("BroadcastGradientArgs", {shape, Shape(x)});
  return Reshape(Sum(x, axes[0]), shape);
}

// The gradient of operand `i`. `op` is Einsum, or XlaEinsum for two operands.
Value OperandGradient(Gradient& g, const Equation& equation, size_t i) {
  const bool is_list = g.op() == "Einsum";
  const auto einsum = [&](const Values& values, const std::string& how) {
    const Attributes attributes = {{"equation", how}};
    return is_list ? g.Call("Einsum", {values}, attributes)
                   : g.Call(g.op(), {values[0], values[1]}, attributes);
  };
  const Value x = g.Input(static_cast<int>(i));
  std::string others = equation.result;
  Values factors = {g.Upstream()};
  if (equation.operands.size() == 2) {
    absl::StrAppend(&others, ",", equation.operands[1 - i]);
    factors.push_back(Conj(g.Input(static_cast<int>(1 - i))));
  }
  const Labels labels(equation.operands[i], others);
  const bool broadcasts = HasEllipsis(labels.all);
  const bool others_broadcast = HasEllipsis(others);
  const auto product = [&](const std::string& result) {
    return einsum(factors, absl::StrCat(others, "->", result));
  };

  // One product suffices if the op sums over no other axes and the axes that broadcast come first,
  // so they can be summed over.
  if (labels.summed.empty() && (!broadcasts || labels.all.rfind(kEllipsis, 0) == 0)) {
    if (!broadcasts && !others_broadcast) return product(labels.all);
    return SumToShape(product(broadcasts ? labels.all : std::string(kEllipsis) + labels.all),
                      Shape(x));
  }

  // Otherwise two products. The second one moves axes, sets diagonals, and repeats along the axes
  // over which the op sums.
  Value dx = product(others_broadcast ? std::string(kEllipsis) + labels.kept : labels.kept);
  if (others_broadcast) {
    const auto kept = static_cast<int64_t>(labels.kept.size());
    Values sizes;
    if (broadcasts) sizes.push_back(labels.BroadcastShape(x));
    if (kept > 0 || !broadcasts) {
      sizes.push_back(kept > 0 ? SliceVector(Shape(dx), -kept, kToTheEnd) : g.Ints({}));
    }
    dx = SumToShape(dx, sizes.size() == 1 ? sizes[0] : Concat(sizes, g.Int(0)));
  }
  const std::string given =
      broadcasts && others_broadcast ? std::string(kEllipsis) + labels.kept : labels.kept;
  if (is_list && labels.summed.empty()) {
    return einsum({dx}, absl::StrCat(given, "->", labels.all));
  }
  const Value shape = Shape(x), one = g.Scalar(1, x.type());
  Values sizes;
  for (const int axis : labels.summed_axes) {
    sizes.push_back(Element(shape, axis));
  }
  const Value ones = sizes.empty() ? one : Fill(Pack(sizes), one);
  return einsum({dx, ones}, absl::StrCat(given, ",", labels.summed, "->", labels.all));
}

void EinsumGrad(Gradient& g) {
  const Equation equation = Parse(g.Attr<std::string>("equation"));
  const size_t count = equation.operands.size();
  if (count != static_cast<size_t>(g.num_inputs())) {
    return g.Unimplemented(absl::StrCat("equation='", g.Attr<std::string>("equation"),
                                        "' is not supported: it must name the axes of ",
                                        g.num_inputs(),
                                        " operands and of the result, as in \"ab,bc->ac\""));
  }
  if (!IsInexact(g.Input(0))) return ReturnNone(g);
  Values gradients;
  for (size_t i = 0; i < count; ++i) {
    gradients.push_back(OperandGradient(g, equation, i));
  }
  g.Return(gradients);
}
REGISTER_GRADIENT("Einsum", EinsumGrad);
REGISTER_GRADIENT("XlaEinsum", EinsumGrad);

}  // namespace
}  // namespace tensorflow_ext
