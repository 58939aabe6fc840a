// The index arithmetic of broadcasting (kernels/broadcast.h), which host and device share, compared
// with a direct form of NumPy's rule: every element of every operand over shapes of up to three
// dimensions, and the CPU's loop over any division into parts.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "tensorflow_ext/kernels/broadcast.h"
#include "tensorflow_ext/kernels/numeric.h"
#include "tensorflow_ext/ops/floor_mod/floor_mod.h"
#include "tensorflow_ext/ops/multiply_left/multiply_left.h"
#include "tests/cc/check.h"

namespace tensorflow_ext {
namespace {

using Shape = std::vector<int64_t>;

std::string Text(const Shape& shape) {
  std::string text = "[";
  for (int64_t size : shape) text += std::to_string(size) + ",";
  return text + "]";
}

int64_t Size(const Shape& shape) {
  int64_t size = 1;
  for (int64_t dimension : shape) size *= dimension;
  return size;
}

DimensionList List(const Shape& shape) { return {shape.data(), static_cast<int>(shape.size())}; }

// False if the shapes do not broadcast.
bool BroadcastShapes(const Shape& x, const Shape& y, Shape* output) {
  const size_t rank = std::max(x.size(), y.size());
  output->assign(rank, 1);
  for (size_t d = 1; d <= rank; ++d) {
    const int64_t in_x = d <= x.size() ? x[x.size() - d] : 1;
    const int64_t in_y = d <= y.size() ? y[y.size() - d] : 1;
    if (in_x != in_y && in_x != 1 && in_y != 1) return false;
    (*output)[rank - d] = in_x == 1 ? in_y : in_x;
  }
  return true;
}

// The position of element `index` of `output` in an operand, dimension by dimension.
int64_t Offset(const Shape& operand, const Shape& output, int64_t index) {
  int64_t offset = 0, stride = 1;
  for (size_t d = 1; d <= output.size(); ++d) {
    const int64_t size = output[output.size() - d];
    if (d <= operand.size() && operand[operand.size() - d] != 1) {
      offset += index % size * stride;
      stride *= size;
    }
    index /= size;
  }
  return offset;
}

// All shapes of up to `rank` dimensions of the given sizes.
std::vector<Shape> Shapes(size_t rank, const Shape& sizes) {
  std::vector<Shape> shapes = {{}};
  for (size_t first = 0; first < shapes.size(); ++first) {
    if (shapes[first].size() == rank) continue;
    for (int64_t size : sizes) {
      Shape longer = shapes[first];
      longer.push_back(size);
      shapes.push_back(longer);
    }
  }
  return shapes;
}

void TestOffsets(const Shape& x, const Shape& y) {
  Shape output;
  const bool broadcasts = BroadcastShapes(x, y, &output);
  if (!broadcasts) output = x.size() > y.size() ? x : y;
  Broadcast<2> broadcast;
  const BroadcastResult result = MakeBroadcast({List(x), List(y)}, List(output), &broadcast);
  const std::string what = Text(x) + " with " + Text(y);
  Check((result == BroadcastResult::kOk) == broadcasts, "result for " + what);
  if (!broadcasts) return;
  for (int64_t i = 0; i < Size(output); ++i) {
    int64_t offsets[2];
    BroadcastOffsets(broadcast, i, offsets);
    Check(offsets[0] == Offset(x, output, i) && offsets[1] == Offset(y, output, i),
          "offsets of " + what + " at " + std::to_string(i));
  }
}

// The CPU's loop, divided anywhere, against one product per element. It writes to a separate
// output, through the caches and past them, and to x if x does not repeat.
template <typename T>
void TestLoop(NumericType type, const Shape& x, const Shape& y) {
  Shape output;
  if (!BroadcastShapes(x, y, &output)) return;
  const int64_t size = Size(output);
  std::vector<T> xs(Size(x)), ys(Size(y));
  for (size_t i = 0; i < xs.size(); ++i) xs[i] = FromCompute<T>(1 + i % 97);
  for (size_t i = 0; i < ys.size(); ++i) ys[i] = FromCompute<T>(100 + i % 89);
  Broadcast<2> broadcast;
  MakeBroadcast({List(x), List(y)}, List(output), &broadcast);
  const auto test = [&](bool in_place, bool streams, int64_t part) {
    std::vector<T> zs = in_place ? xs : std::vector<T>(size);
    const void* inputs[] = {in_place ? zs.data() : xs.data(), ys.data()};
    void* const outputs[] = {zs.data()};
    for (int64_t begin = 0; begin < size; begin += part) {
      CpuElementwise<MultiplyLeft>::Run(type, broadcast, inputs, outputs, begin,
                                        std::min(size, begin + part), streams);
    }
    for (int64_t i = 0; i < size; ++i) {
      const T product =
          FromCompute<T>(ToCompute(xs[Offset(x, output, i)]) * ToCompute(ys[Offset(y, output, i)]));
      Check(ToCompute(zs[i]) == ToCompute(product),
            "product of " + Text(x) + " with " + Text(y) + " at " + std::to_string(i) +
                ", in parts of " + std::to_string(part) + (streams ? ", streamed" : ""));
    }
  };
  for (int64_t part : {int64_t{1}, int64_t{7}, int64_t{250}, size}) {
    test(false, false, part);
    test(false, true, part);
    if (x == output) test(true, false, part);
  }
}

void TestLoops(const Shape& x, const Shape& y) {
  TestLoop<float>(NumericType::kFloat, x, y);
  TestLoop<double>(NumericType::kDouble, x, y);
  TestLoop<Half>(NumericType::kHalf, x, y);
}

void TestPairs(void (*test)(const Shape&, const Shape&), const std::vector<Shape>& shapes) {
  for (const Shape& x : shapes) {
    for (const Shape& y : shapes) test(x, y);
  }
}

void TestCollapse() {
  const Shape x = {2, 3, 1, 1, 5}, y = {4, 5}, output = {2, 3, 1, 4, 5};
  Broadcast<2> broadcast;
  MakeBroadcast({List(x), List(y)}, List(output), &broadcast);
  Check(broadcast.rank == 3 && broadcast.sizes[0] == 6,
        "neighbours that broadcast alike become one dimension");

  const Shape same = {7, 1, 9, 11};
  MakeBroadcast({List(same), List(same)}, List(same), &broadcast);
  Check(broadcast.rank == 1 && broadcast.sizes[0] == 693 && broadcast.strides[0][0] == 1 &&
            broadcast.strides[1][0] == 1,
        "equal shapes are flat");

  MakeBroadcast({List(same), List({})}, List(same), &broadcast);
  Check(broadcast.rank == 1 && broadcast.strides[1][0] == 0, "a scalar is flat");

  Shape odd, even, all;
  for (int d = 0; d <= kMaxBroadcastRank; ++d) {
    odd.push_back(d % 2 == 1 ? 2 : 1);
    even.push_back(d % 2 == 0 ? 2 : 1);
    all.push_back(2);
  }
  Check(MakeBroadcast({List(odd), List(even)}, List(all), &broadcast) ==
            BroadcastResult::kTooManyDimensions,
        "more patterns than dimensions are an error");
}

void TestQuotient() {
  constexpr int64_t kLarge = std::numeric_limits<int64_t>::max();
  constexpr int64_t k32Bits = 4294967295;
  for (int64_t a : {int64_t{0}, int64_t{1}, k32Bits, k32Bits + 1, kLarge}) {
    for (int64_t b : {int64_t{1}, int64_t{3}, k32Bits, k32Bits + 1, kLarge}) {
      Check(Quotient(a, b) == a / b, std::to_string(a) + " / " + std::to_string(b));
    }
  }
}

// Floored division of every pair of small integers, and at the limits.
void TestFloorMod() {
  for (int32_t x = -9; x <= 9; ++x) {
    for (int32_t y = -4; y <= 4; ++y) {
      const int32_t z = FloorMod{}(x, y);
      const std::string what = std::to_string(x) + " mod " + std::to_string(y);
      Check(y == 0 ? z == 0 : (x - z) % y == 0 && (y > 0 ? 0 <= z && z < y : y < z && z <= 0),
            what);
      if (y == 0) continue;
      const double quotient = FlooredQuotient<double>(x, y);
      Check(quotient == std::floor(static_cast<double>(x) / y) &&
                quotient * y + FloorMod{}(double{1} * x, double{1} * y) == x,
            "quotient of " + what);
    }
  }
  constexpr int32_t kLowest = std::numeric_limits<int32_t>::min();
  Check(FloorMod{}(kLowest, -1) == 0 && FloorMod{}(kLowest, 3) == 1, "mod of the lowest integer");
}

}  // namespace
}  // namespace tensorflow_ext

int main() {
  using namespace tensorflow_ext;
  TestPairs(TestOffsets, Shapes(3, {0, 1, 2, 3}));
  // Rows that are gathered and rows that are not (broadcast_runs_cpu.h).
  TestPairs(TestLoops, Shapes(2, {1, 5, 17, 63, 64, 130}));
  TestPairs(TestLoops, Shapes(3, {1, 3, 12}));
  TestCollapse();
  TestQuotient();
  TestFloorMod();
  return ExitStatus();
}
