// Lists of tensors, held in a variant. The gradient of a list is a list of the same length, and
// each definition is the adjoint of how its op moves elements. An element that is missing from a
// gradient's list counts as zeros.
//
// Elements may differ in shape if the list's element shape allows it, so gradients' lists use that
// shape and not an element's.

#include "tensorflow_ext/gradient/bridge/register_formula.h"
#include "tensorflow_ext/gradient/formula/formula_ops.h"

namespace tensorflow_ext {
namespace {

Value Length(Value list) { return Call("TensorListLength", {list}); }

Value ElementShape(Value list) {
  return Call("TensorListElementShape", {list}, {{"shape_type", DT_INT32}});
}

Value Resize(Value list, Value length) { return Call("TensorListResize", {list, length}); }

// A list like `list` whose elements, of type `type`, are all zeros.
Value ReserveLike(Value list, DataType type) {
  return Call("TensorListReserve", {ElementShape(list), Length(list)}, {{"element_dtype", type}});
}

Value SetItem(Value list, Value index, Value item) {
  return Call("TensorListSetItem", {list, index, item});
}

// The elements of `list` at `indices`, stacked as they are in `like`.
Value GatherLike(Value like, Value list, Value indices) {
  return Call("TensorListGather", {list, indices, SliceVector(Shape(like), 1, kToTheEnd)},
              {{"element_dtype", like.type()}});
}

// `list` with the rows of `tensor` at `indices`.
Value ScatterInto(Value list, Value tensor, Value indices) {
  return Call("TensorListScatterIntoExistingList", {list, tensor, indices});
}

Value FromTensor(Value tensor, Value element_shape) {
  return Call("TensorListFromTensor", {tensor, element_shape});
}

// True if elements of this type have gradients. Other elements, such as integers, have none, and
// neither do their lists.
bool HasGradient(Value x) { return IsInexact(x) || x.type() == DT_VARIANT; }

// Lengths and shapes of lists, and lists without values made from them.
REGISTER_GRADIENT("EmptyTensorList", ReturnNone);
REGISTER_GRADIENT("TensorListElementShape", ReturnNone);
REGISTER_GRADIENT("TensorListLength", ReturnNone);
REGISTER_GRADIENT("TensorListReserve", ReturnNone);

// ---- Two concatenated lists; not batches of lists.

// The elements of the second list are gathered, so they must have one shape. If there are none, the
// list's element shape gives it.
void ConcatListsGrad(Gradient& g) {
  const Value a = g.Input(0), b = g.Input(1), dy = g.Upstream();
  const DataType type = g.Attr<DataType>("element_dtype");
  const Value begin = Length(a);
  const Value places = Range(begin, begin + Length(b), g.Int(1));
  const Value rows =
      Call("TensorListGather", {dy, places, ElementShape(b)}, {{"element_dtype", type}});
  if (!HasGradient(rows)) return ReturnNone(g);
  g.Return({Resize(dy, begin), FromTensor(rows, ElementShape(b))});
}
REGISTER_GRADIENT("TensorListConcatLists", ConcatListsGrad);

// ---- One element.

void GetItemGrad(Gradient& g) {
  const Value list = g.Input(0), index = g.Input(1), dy = g.Upstream();
  if (!HasGradient(dy)) return ReturnNone(g);
  g.Return({SetItem(ReserveLike(list, dy.type()), index, dy), Value(), Value()});
}
REGISTER_GRADIENT("TensorListGetItem", GetItemGrad);

void SetItemGrad(Gradient& g) {
  const Value index = g.Input(1), item = g.Input(2), dy = g.Upstream();
  if (!HasGradient(item)) return ReturnNone(g);
  Value d_list = SetItem(dy, index, ZerosLike(item));
  if (g.Attr<bool>("resize_if_index_out_of_bounds")) {
    d_list = Resize(d_list, Length(g.Input(0)));
  }
  const Value d_item =
      Call("TensorListGetItem", {dy, index, Shape(item)}, {{"element_dtype", item.type()}});
  g.Return({d_list, Value(), d_item});
}
REGISTER_GRADIENT("TensorListSetItem", SetItemGrad);

// The identity keeps the two gradients from being outputs of one node. If one of these is
// differentiated again and the other leads to more that is, TensorFlow's AddSymbolicGradients gives
// wrong second-order gradients.
void PushBackGrad(Gradient& g) {
  const Value tensor = g.Input(1);
  if (!HasGradient(tensor)) return ReturnNone(g);
  const Values popped = CallAll("TensorListPopBack", {g.Upstream(), Shape(tensor)},
                                {{"element_dtype", tensor.type()}});
  g.Return({popped[0], Call("Identity", {popped[1]})});
}
REGISTER_GRADIENT("TensorListPushBack", PushBackGrad);

void PopBackGrad(Gradient& g) {
  const Value d_list = g.Upstream(0), d_tensor = g.Upstream(1);
  if (!HasGradient(d_tensor)) return ReturnNone(g);
  g.Return({Call("TensorListPushBack", {d_list, d_tensor}), Value()});
}
REGISTER_GRADIENT("TensorListPopBack", PopBackGrad);

// Elements that were cut off get zeros; the gradient ignores appended ones.
void ResizeGrad(Gradient& g) { g.Return({Resize(g.Upstream(), Length(g.Input(0))), Value()}); }
REGISTER_GRADIENT("TensorListResize", ResizeGrad);

// ---- All elements: stacked on a new axis, or joined on their first axis.

void StackGrad(Gradient& g) {
  const Value list = g.Input(0), dy = g.Upstream();
  if (!HasGradient(dy)) return ReturnNone(g);
  g.Return({FromTensor(dy, ElementShape(list)), Value()});
}
REGISTER_GRADIENT("TensorListStack", StackGrad);

void FromTensorGrad(Gradient& g) {
  const Value tensor = g.Input(0);
  if (!HasGradient(tensor)) return ReturnNone(g);
  const Value element_shape = SliceVector(Shape(tensor), 1, kToTheEnd);
  g.Return(
      {Call("TensorListStack", {g.Upstream(), element_shape}, {{"element_dtype", tensor.type()}}),
       Value()});
}
REGISTER_GRADIENT("TensorListFromTensor", FromTensorGrad);

void ListConcatGrad(Gradient& g) {
  const Value list = g.Input(0), lengths = g.Output(1), dy = g.Upstream(0);
  if (!HasGradient(dy)) return ReturnNone(g);
  g.ReturnFirst(Call("TensorListSplit", {dy, ElementShape(list), lengths}));
}
REGISTER_GRADIENT("TensorListConcat", ListConcatGrad);
REGISTER_GRADIENT("TensorListConcatV2", ListConcatGrad);

void ListSplitGrad(Gradient& g) {
  const Value tensor = g.Input(0), lengths = g.Input(2);
  if (!HasGradient(tensor)) return ReturnNone(g);
  const Value element_shape =
      Concat({g.Ints({-1}), SliceVector(Shape(tensor), 1, kToTheEnd)}, g.Int(0));
  g.Return({Call("TensorListConcatV2", {g.Upstream(), element_shape, lengths},
                 {{"element_dtype", tensor.type()}}),
            Value(), Value()});
}
REGISTER_GRADIENT("TensorListSplit", ListSplitGrad);

// ---- Elements at indices, which may repeat.

// True if an op on rows of `tensor`'s type has a known gradient. If not, reports the reason, or
// that there is no gradient.
bool HasRowGradient(Gradient& g, Value tensor) {
  if (tensor.type() == DT_VARIANT) {
    g.Unimplemented(
        "element_dtype=variant is not supported: rows that share an index "
        "would have to be summed or selected as numbers");
    return false;
  }
  if (!HasGradient(tensor)) ReturnNone(g);
  return HasGradient(tensor);
}

// The distinct values of `indices`, and the position of each index among them.
std::pair<Value, Value> Unique(Value indices) {
  const Values outputs = CallAll("Unique", {indices}, {{"out_idx", DT_INT32}});
  return {outputs[0], outputs[1]};
}

// An element gets the sum over all its copies.
void ListGatherGrad(Gradient& g) {
  const Value list = g.Input(0), dy = g.Upstream();
  if (!HasRowGradient(g, dy)) return;
  const auto [indices, places] = Unique(g.Input(1));
  const Value sums = Call("UnsortedSegmentSum", {dy, places, Size(indices)});
  g.Return({ScatterInto(ReserveLike(list, dy.type()), sums, indices), Value(), Value()});
}
REGISTER_GRADIENT("TensorListGather", ListGatherGrad);

// The gradients of the scattered rows. If several rows have the same index, the last one stays, and
// the others get zeros.
Value ScatteredRows(Value tensor, Value indices, Value d_list) {
  Gradient* g = tensor.gradient();
  const auto [different, places] = Unique(indices);
  const Value rows = Range(g->Int(0), Size(indices), g->Int(1));
  const Value last = Call("UnsortedSegmentMax", {rows, places, Size(different)});
  const Value stayed = Equal(Gather(last, places), rows);
  const Value inner_axes = OnesLike(SliceVector(Shape(tensor), 1, kToTheEnd));
  const Value mask = Reshape(stayed, Concat({Shape(indices), inner_axes}, g->Int(0)));
  return Where(mask, GatherLike(tensor, d_list, indices), 0.0);
}

void ListScatterGrad(Gradient& g) {
  const Value tensor = g.Input(0), indices = g.Input(1);
  if (!HasRowGradient(g, tensor)) return;
  g.ReturnFirst(ScatteredRows(tensor, indices, g.Upstream()));
}
REGISTER_GRADIENT("TensorListScatter", ListScatterGrad);
REGISTER_GRADIENT("TensorListScatterV2", ListScatterGrad);

// The op lengthens the list if an index requires it.
void ScatterIntoExistingListGrad(Gradient& g) {
  const Value list = g.Input(0), tensor = g.Input(1), indices = g.Input(2);
  const Value dy = g.Upstream();
  if (!HasRowGradient(g, tensor)) return;
  const Value d_list = Resize(ScatterInto(dy, ZerosLike(tensor), indices), Length(list));
  g.Return({d_list, ScatteredRows(tensor, indices, dy), Value()});
}
REGISTER_GRADIENT("TensorListScatterIntoExistingList", ScatterIntoExistingListGrad);

}  // namespace
}  // namespace tensorflow_ext
