// The arithmetic of RoiPool's bins (ops/roi_pool/roi_pool.h), which host and device share: rounding
// and clamping of corners, a region's image, the limits of bins, the order of maxima and the check
// of argmax.
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "tensorflow_ext/ops/roi_pool/roi_pool.h"
#include "tests/cc/check.h"

namespace tensorflow_ext {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

void TestCorner() {
  Check(RoiCorner(2.5f, 1.f) == 3 && RoiCorner(-2.5f, 1.f) == -3 &&
            RoiCorner(0.49999997f, 1.f) == 0 && RoiCorner(5.f, .5f) == 3,
        "corners are rounded half away from zero");
  for (float huge : {3e9f, 1e30f, kInf}) {
    Check(RoiCorner(huge, 1.f) == kMaxRoiCorner && RoiCorner(-huge, 1.f) == -kMaxRoiCorner,
          "a huge corner is clamped");
  }
  Check(RoiCorner(1e300, 1.) == kMaxRoiCorner, "a huge double is clamped");
}

void TestImage() {
  Check(RoiImage(0.f, 2) == 0 && RoiImage(-0.f, 2) == 0 && RoiImage(1.9f, 2) == 1,
        "a batch index names its image");
  for (float none : {-1.f, -0.1f, 2.f, 1e30f, kInf, -kInf, kNan}) {
    Check(RoiImage(none, 2) == -1, "a batch index out of range names none");
  }
  Check(RoiImage(0.f, 0) == -1, "no image, no index");
}

void TestRead() {
  const float roi[] = {1, 2, 4, 5, 9};
  const Roi read = ReadRoi(roi, 1.f, 2);
  Check(read.image == 1 && read.x.begin == 2 && read.x.length == 4 && read.y.begin == 4 &&
            read.y.length == 6,
        "both corners are inside a region");
  const float reversed[] = {0, 9, 9, 2, 2};
  Check(ReadRoi(reversed, 1.f, 2).x.length == 1, "a reversed region has one pixel");
  for (int k = 1; k < 5; ++k) {
    float broken[] = {0, 1, 1, 3, 3};
    broken[k] = kNan;
    Check(ReadRoi(broken, 1.f, 2).image == -1, "a NaN corner names no image");
  }
}

// floor and ceil in double, which is exact in this range, for every bin.
void TestBins() {
  for (int64_t begin : {-7, -1, 0, 3, 20}) {
    for (int64_t length = 1; length < 40; ++length) {
      for (int64_t bins = 1; bins < 12; ++bins) {
        for (int64_t i = 0; i < bins; ++i) {
          const PixelRange range = RoiBin({begin, length}, i, bins, 16);
          const double ratio = static_cast<double>(i * length) / bins;
          const double next = static_cast<double>((i + 1) * length) / bins;
          const double low = std::fmin(std::fmax(begin + std::floor(ratio), 0), 16);
          const double high = std::fmin(std::fmax(begin + std::ceil(next), 0), 16);
          Check(range.begin == low && range.end == high,
                "bin " + std::to_string(i) + " of " + std::to_string(bins) + " over " +
                    std::to_string(begin) + " + " + std::to_string(length));
        }
      }
    }
  }
  // The largest length and number of bins fit into 64 bits.
  const RoiSide whole = {-kMaxRoiCorner, 2 * kMaxRoiCorner + 1};
  constexpr int64_t kBins = (int64_t{1} << 30) - 1;
  const PixelRange last = RoiBin(whole, kBins - 1, kBins, INT32_MAX);
  Check(last.begin == kMaxRoiCorner - 2 && last.end == kMaxRoiCorner + 1,
        "the last of the most bins");
}

void TestMaximum() {
  Check(ReplacesMaximum(2.f, 1.f) && !ReplacesMaximum(1.f, 1.f) && !ReplacesMaximum(0.f, -0.f),
        "the first of equals stays");
  Check(ReplacesMaximum(kNan, 1.f) && !ReplacesMaximum(1.f, kNan) && !ReplacesMaximum(kNan, kNan),
        "the first NaN is the maximum");
  Check(ReplacesMaximum(kInf, -kInf) && !ReplacesMaximum(-kInf, -kInf), "infinities are ordinary");
}

void TestArgmax() {
  for (int64_t channels : {1, 2, 3, 5, 7, 64, 65, 1000}) {
    const RoiPoolDims dims = {1, 9, 13, channels, 1, 1, 2};
    std::vector<int32_t> row(dims.row_size(), -1);
    ElementRange range;
    Check(ArgmaxElements(dims, row.data(), &range) && range.end <= 0, "bins that point at nothing");
    for (int64_t k : {int64_t{0}, channels - 1, channels}) {
      const int64_t size = dims.image_size();
      for (int64_t element : {int64_t{INT32_MIN}, int64_t{-2}, int64_t{0}, channels - 1, size / 2,
                              size - 1, size, size + k, int64_t{INT32_MAX}}) {
        row[k] = static_cast<int32_t>(element);
        const bool expected = element >= 0 && element < size && element % channels == k % channels;
        const bool found = ArgmaxElements(dims, row.data(), &range);
        Check(found == expected && expected == IsElementOfChannel(row[k], k % channels, dims),
              "argmax " + std::to_string(element) + " of channel " + std::to_string(k % channels) +
                  " of " + std::to_string(channels));
        Check(!found || (range.begin == element && range.end == element + 1),
              "the range of one element");
        row[k] = -1;
      }
    }
  }
  // The largest image: the reciprocal of the channels rounds, and the check still holds.
  for (int32_t channels : {3, 7, 641, 46341}) {
    const RoiPoolDims dims = {1, 1, INT32_MAX / channels, channels, 1, 1, 1};
    std::vector<int32_t> row(channels);
    for (int32_t c = 0; c < channels; ++c) {
      row[c] = static_cast<int32_t>(dims.image_size()) - channels + c;
    }
    ElementRange range;
    Check(ArgmaxElements(dims, row.data(), &range), "the last pixel");
    row[0] += 1;
    Check(!ArgmaxElements(dims, row.data(), &range), "the wrong channel");
  }
}

}  // namespace
}  // namespace tensorflow_ext

int main() {
  using namespace tensorflow_ext;
  TestCorner();
  TestImage();
  TestRead();
  TestBins();
  TestMaximum();
  TestArgmax();
  return ExitStatus();
}
