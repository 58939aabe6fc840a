/* SPDX-License-Identifier: Apache-2.0
 *
 * From what a case says about a tensor to its numbers. tests/clients/python/
 * cases.py does the same: keep the two in step.
 */
#include <math.h>
#include <stdlib.h>

#include "tests/clients/harness/case.h"

/* Generated values keep this far from those to avoid: much more than the step
 * of the central differences, and exact in bfloat16 for values below 8. */
static const double kMargin = 1.0 / 16;

double ListedValue(const Values* values, int64_t i) {
  return values->count == 0 ? 0 : values->list[i % values->count];
}

bool ListFits(const Values* values, int64_t size) {
  return values->count == 1 || values->count == size;
}

/* Rounds to what every type of the case holds. Half has a small range: tiny
 * values go to 0. */
static double Exact(const Case* c, double value) {
  for (int i = 0; i < c->type_count; ++i) {
    value = RoundTo(c->types[i], value);
    bool tiny = value != 0 && fabs(value) < ldexp(1, -14);
    if (c->types[i] == TF_HALF && tiny) value = 0;
  }
  return value;
}

static double Avoid(const Values* values, double value) {
  for (int i = 0; i < values->count; ++i) {
    double kink = values->list[i];
    if (fabs(value - kink) < kMargin) {
      return value < kink ? kink - kMargin : kink + kMargin;
    }
  }
  return value;
}

static void Permute(uint64_t state, double step, Tensor* tensor) {
  int64_t n = tensor->size;
  for (int64_t i = 0; i < n; ++i) {
    tensor->values[i] = step * (double)(i - n / 2);
  }
  for (int64_t i = n - 1; i > 0; --i) { /* Fisher and Yates */
    int64_t j = (int64_t)(NextRandom(&state) % (uint64_t)(i + 1));
    double swapped = tensor->values[i];
    tensor->values[i] = tensor->values[j];
    tensor->values[j] = swapped;
  }
}

static void Fill(const Case* c, const Values* values, Tensor* tensor) {
  uint64_t state = values->seed;
  if (values->kind == kPermutation) Permute(state, values->step, tensor);
  for (int64_t i = 0; i < tensor->size; ++i) {
    double* value = &tensor->values[i];
    if (values->kind == kListed) {
      *value = ListedValue(values, i);
    } else if (values->kind == kChoose) {
      uint64_t count = (uint64_t)values->count;
      *value = values->list[NextRandom(&state) % count];
    } else if (values->kind == kUniform) {
      double span = values->high - values->low;
      *value = values->low + span * NextUniform(&state);
      if (IsFloating(tensor->dtype)) *value = Exact(c, *value);
      *value = Avoid(values, *value);
    }
    *value = IsFloating(tensor->dtype) ? Exact(c, *value)
                                       : RoundTo(tensor->dtype, *value);
  }
}

TF_DataType TypeOf(const TypeSpec* spec, TF_DataType type) {
  switch (spec->kind) {
    case kTypeT:
      return type;
    case kComputeTypeOfT:
      return type == TF_HALF || type == TF_BFLOAT16 ? TF_FLOAT : type;
    default:
      return spec->dtype;
  }
}

TF_DataType InputType(const Case* c, int index, TF_DataType type) {
  return TypeOf(&c->inputs[index].type, type);
}

Tensor MakeInput(const Case* c, int index, TF_DataType type) {
  const InputSpec* input = &c->inputs[index];
  Tensor tensor =
      NewTensor(InputType(c, index, type), input->rank, input->dims);
  Fill(c, &input->values, &tensor);
  return tensor;
}

Tensor MakeUpstream(const Case* c, int index, const Tensor* output) {
  Tensor tensor = NewTensor(output->dtype, output->rank, output->dims);
  Values values = c->upstreams[index];
  if (values.kind == kAbsent) {
    values = (Values){
        .kind = kUniform, .seed = 1001 + (uint64_t)index, .low = -2, .high = 2};
  }
  Fill(c, &values, &tensor);
  return tensor;
}

bool HasGoldenGradients(const Case* c) {
  for (int i = 0; i < c->input_count; ++i) {
    if (c->gradients[i].kind == kListed) return true;
  }
  return false;
}
