#include "tensorflow_ext/testing/judged_message.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tensorflow_ext/testing/real_numbers.h"

namespace tensorflow_ext {
namespace {

using tensorflow::Tensor;
using Outcome = GradientFinding::Outcome;

std::string Place(const Judged& judged, const Tensor& like) {
  return judged.positions.size() == 1
             ? IndexOf(judged.positions[0], like)
             : absl::StrCat("along a direction of ", judged.positions.size(), " elements");
}

double Excess(const Judged* judged) {
  return std::abs(judged->analytic - judged->slope.value) / judged->tolerance;
}

std::string Wrong(const std::vector<const Judged*>& wrong, size_t count, const Tensor& like) {
  const Judged& worst =
      **std::max_element(wrong.begin(), wrong.end(),
                         [](const auto* a, const auto* b) { return Excess(a) < Excess(b); });
  const Slope& slope = worst.slope;
  const std::string kink = slope.kind == Kind::kKink ? absl::StrCat(", on a kink, but not between ",
                                                                    slope.low, " and ", slope.high)
                                                     : "";
  return absl::StrCat(wrong.size(), " of ", count, " slopes differ, the worst at ",
                      Place(worst, like), ": gradient ", worst.analytic, ", expected ", slope.value,
                      ", tolerance ", worst.tolerance, ", step ", slope.step, kink);
}

std::string Unknown(const Judged& first, size_t unknown, size_t count, const Tensor& like) {
  const char* const kinds[] = {"", "on a kink, ", "on a jump or an infinite slope, ",
                               "at the edge of the domain, "};
  return absl::StrCat("not judged: ", unknown, " of ", count, ", first ", Place(first, like), ", ",
                      kinds[static_cast<int>(first.slope.kind)], "differences uncertain by ",
                      first.slope.error);
}

}  // namespace

GradientFinding DifferencesFinding(int order, const std::string& title, const Tensor& like,
                                   bool there, bool required, const std::vector<Judged>& judged) {
  std::vector<const Judged*> wrong, between, unknown;
  for (const Judged& one : judged) {
    if (one.verdict == Verdict::kWrong) wrong.push_back(&one);
    if (one.verdict == Verdict::kBetween) between.push_back(&one);
    if (one.verdict == Verdict::kUnknown) unknown.push_back(&one);
  }
  GradientFinding finding{order, "differences", title, Outcome::kPassed, ""};
  std::vector<std::string> said;
  if (!there) said.push_back("no gradient");
  if (!wrong.empty()) {
    finding.outcome = Outcome::kFailed;
    said.push_back(Wrong(wrong, judged.size(), like));
  } else if (!there) {
    said.push_back("and the differences are 0");
    if (required) {
      finding.outcome = Outcome::kFailed;
      said.push_back("but one is required");
    }
  }
  if (!between.empty()) {
    said.push_back(absl::StrCat("a step crosses a kink at ", between.size(), " of ", judged.size(),
                                ", first ", Place(*between[0], like),
                                ", the gradient is between the slopes from both sides"));
  }
  if (!unknown.empty()) {
    said.push_back(Unknown(*unknown[0], unknown.size(), judged.size(), like));
    if (unknown.size() == judged.size()) finding.outcome = Outcome::kNote;
  }
  const size_t size = ToNumbers(like).size();
  if (size > judged.size()) {
    said.push_back(absl::StrCat(judged.size(), " slopes of ", size, " elements"));
  }
  finding.message = absl::StrJoin(said, ", ");
  return finding;
}

}  // namespace tensorflow_ext
