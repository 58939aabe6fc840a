#pragma once

namespace tensorflow_ext {

// True if no other copy of this library was in the process when this one was loaded. Constant from
// then on; safe to call during static initialization.
bool IsFirstCopy();

}  // namespace tensorflow_ext
