// SPDX-License-Identifier: Apache-2.0
//
// The way behind TensorFlow's interfaces, where there is no other: an explicit
// instantiation of a template may name a private member, access is not checked
// there (C++17, [temp.spec] paragraph 6). Where a class of TensorFlow's has
// changed, the file that instantiates does not compile, and says what to do.

#ifndef TENSORFLOW_EXT_BASE_PRIVATE_MEMBER_H_
#define TENSORFLOW_EXT_BASE_PRIVATE_MEMBER_H_

namespace tensorflow_ext {

// Makes Find(Tag()) the pointer to the member. A tag, which is to be in this
// namespace and in no unnamed one, is
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

#endif  // TENSORFLOW_EXT_BASE_PRIVATE_MEMBER_H_
