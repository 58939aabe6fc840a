#pragma once

// Exports a function's address as Kernel_<name>. Python calls it with its C++ arguments
// (Device.launch in device.py), which are passed like C's.
#define EXPORT_LAUNCHER(name, function)                                                 \
  extern "C" {                                                                          \
  __attribute__((visibility("default"))) decltype(&function) Kernel_##name = &function; \
  }
