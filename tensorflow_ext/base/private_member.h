// Access to private members of TensorFlow's classes where no interface gives it. An explicit
// template instantiation may name a private member, because access is not checked there (C++17,
// [temp.spec] paragraph 6). If TensorFlow's class has changed, the instantiating file does not
// compile and explains what to do.

#pragma once

namespace tensorflow_ext {

// Makes Find(Tag()) the pointer to the member. A tag must be in this namespace and not in an
// unnamed one. For example:
//
//   struct Size {
//     using Member = int Box::*;
//     friend Member Find(Size);
//   };
//   template struct PrivateMember<Size, &Box::size_>;
template <typename Tag, typename Tag::Member member>
struct PrivateMember {
  friend typename Tag::Member Find(Tag) { return member; }
};

}  // namespace tensorflow_ext
