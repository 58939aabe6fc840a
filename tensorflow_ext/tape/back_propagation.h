// Goes back through the records of a tape.

#pragma once

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "tensorflow_ext/tape/recording.h"

namespace tensorflow_ext {

// A gradient, dense or by the rows that were gathered: then row k of `values` is added to row
// indices[k] of zeros with `num_rows` rows (a scalar).
struct TapeGradient {
  HandlePtr values;
  // Null if the gradient is dense.
  HandlePtr indices, num_rows;
  // The reason why it is dense.
  std::string reason;

  bool is_rows() const { return indices != nullptr; }
  TapeGradient NewRef() const;
};

// The same gradient, dense.
absl::StatusOr<TapeGradient> ToDense(tensorflow::EagerContext* context, const TapeGradient& rows);

class BackPropagation {
 public:
  // `keeps_rows`: gradients may be rows.
  BackPropagation(tensorflow::EagerContext* context, bool keeps_rows)
      : context_(context), keeps_rows_(keeps_rows) {}

  // Adds a part of the gradient of a tensor.
  void Add(TensorId id, TapeGradient gradient) { gradients_[id].push_back(std::move(gradient)); }

  // The sum of the gradients of a tensor; its values are null if it has none.
  absl::StatusOr<TapeGradient> Sum(TensorId id);

  // Goes from the outputs of a record to its inputs. `wanted`: the tensors whose gradients are
  // needed. `results`: those whose gradients stay.
  absl::Status Run(const Record& record, const absl::flat_hash_set<TensorId>& wanted,
                   const absl::flat_hash_set<TensorId>& results);

 private:
  absl::StatusOr<TapeGradient> SumOf(const std::vector<TapeGradient>& parts);

  // Puts zeros in the place of missing upstream gradients that the plan uses, and makes those
  // dense that a step takes. `needed` as for RunSteps.
  absl::Status Complete(const Record& record, const EagerPlan& plan,
                        const std::vector<bool>& needed, std::vector<TapeGradient>* upstream);

  tensorflow::EagerContext* const context_;
  const bool keeps_rows_;
  absl::flat_hash_map<TensorId, std::vector<TapeGradient>> gradients_;
};

}  // namespace tensorflow_ext
