# find_package(tensorflow_ext): op libraries, and programs in C and C++.
#
#   cmake -Dtensorflow_ext_DIR=$(python -c \
#     'import tensorflow_ext; print(tensorflow_ext.sysconfig.get_cmake_dir())')
#
# Targets:
#   tensorflow_ext::tensorflow_ext  libtensorflow_ext.so, its headers, TensorFlow
#   tensorflow_ext::formula         the same with the short-hand for gradients
#   tensorflow_ext::kernels         the same with tensorflow_ext/kernels, .../xla
#   tensorflow_ext::cc              the same with tensorflow_ext/cc: typed ops and
#                                   AddSymbolicGradients for C++
#
#   tf_ext_add_op_library(<name> SRCS <file>... [CUDA_SRCS <file>...]
#                         [XLA_SRCS <file>...] [DEPS <library>...])
#
# builds lib<name>.so, like tf_ext_op_library in tensorflow_ext/build_defs.bzl, which
# documents the arguments. CUDA kernels are built if CMake finds a CUDA compiler
# (CUDACXX or CMAKE_CUDA_COMPILER name one); tensorflow_ext_CUDA=OFF disables them.
#
#   tf_ext_add_cc_ops(<name>)
#
# builds <name>_cc_ops for that library: a C++ library with its typed ops, as <name>::ops
# in <name>_cc_ops.h. The interpreter needs Jinja (pip install jinja2).
#
# Paths and flags come from tensorflow_ext/sysconfig.py, run by the Python interpreter
# that has TensorFlow: Python3_EXECUTABLE, else the one that find_package(Python3)
# finds.

cmake_minimum_required(VERSION 3.18)

if(TARGET tensorflow_ext::tensorflow_ext)
  return()
endif()

if(NOT Python3_EXECUTABLE)
  set(Python3_FIND_VIRTUALENV FIRST)
  find_package(Python3 QUIET COMPONENTS Interpreter)
endif()

get_filename_component(_tf_ext_packages "${CMAKE_CURRENT_LIST_DIR}/../.." ABSOLUTE)
execute_process(
  COMMAND "${Python3_EXECUTABLE}" -c "
import sys
sys.path.insert(0, '${_tf_ext_packages}')
import tensorflow as tf
from tensorflow_ext import sysconfig
print(sysconfig.get_lib(), tf.sysconfig.get_lib(), sep='\\n')
try:
    print(*sysconfig.get_sources(), sep=';')
except FileNotFoundError:
    print()  # a build without them
print(*sysconfig.get_compile_flags(op_library=True), sep=';')
print(*sysconfig.get_link_flags(op_library=True), sep=';')
"
  OUTPUT_VARIABLE _tf_ext_said
  ERROR_VARIABLE _tf_ext_error
  RESULT_VARIABLE _tf_ext_result
  OUTPUT_STRIP_TRAILING_WHITESPACE)
if(NOT _tf_ext_result EQUAL 0)
  set(tensorflow_ext_FOUND FALSE)
  set(tensorflow_ext_NOT_FOUND_MESSAGE
    "'${Python3_EXECUTABLE}' cannot import tensorflow_ext: -DPython3_EXECUTABLE=... \
names the Python interpreter that has TensorFlow.\n${_tf_ext_error}")
  return()
endif()
string(REGEX REPLACE "^([^\n]*)\n([^\n]*)\n([^\n]*)\n([^\n]*)\n([^\n]*)$" "\\1"
  _tf_ext_lib "${_tf_ext_said}")
set(_tf_ext_tf_lib "${CMAKE_MATCH_2}")
set(_tf_ext_sources "${CMAKE_MATCH_3}")
set(_tf_ext_compile "${CMAKE_MATCH_4}")
set(_tf_ext_link "${CMAKE_MATCH_5}")

# The flags, sorted by their CMake property. CMake passes folders as -isystem in every
# language.
set(_tf_ext_includes "${_tf_ext_compile}")
list(FILTER _tf_ext_includes INCLUDE REGEX "^-isystem")
list(TRANSFORM _tf_ext_includes REPLACE "^-isystem" "")
set(_tf_ext_defines "${_tf_ext_compile}")
list(FILTER _tf_ext_defines INCLUDE REGEX "^-D")
list(TRANSFORM _tf_ext_defines REPLACE "^-D" "")
set(_tf_ext_options "${_tf_ext_compile}")
list(FILTER _tf_ext_options EXCLUDE REGEX "^-isystem|^-D|std=|^-fPIC$")
set(_tf_ext_archives "${_tf_ext_link}")
list(FILTER _tf_ext_archives INCLUDE REGEX "\\.a$")

foreach(_tf_ext_part framework cc)
  add_library(tensorflow_ext::tensorflow_${_tf_ext_part} SHARED IMPORTED)
  set_target_properties(tensorflow_ext::tensorflow_${_tf_ext_part} PROPERTIES
    IMPORTED_LOCATION "${_tf_ext_tf_lib}/libtensorflow_${_tf_ext_part}.so.2")
endforeach()

add_library(tensorflow_ext::tensorflow_ext SHARED IMPORTED)
set_target_properties(tensorflow_ext::tensorflow_ext PROPERTIES
  IMPORTED_LOCATION "${_tf_ext_lib}/libtensorflow_ext.so"
  IMPORTED_SONAME libtensorflow_ext.so
  INTERFACE_COMPILE_DEFINITIONS "${_tf_ext_defines}"
  INTERFACE_COMPILE_FEATURES cxx_std_17
  INTERFACE_INCLUDE_DIRECTORIES "${_tf_ext_includes}"
  INTERFACE_SYSTEM_INCLUDE_DIRECTORIES "${_tf_ext_includes}"
  # Some compilers pass --as-needed, and programs may use no symbol of these libraries: the first
  # registers its ops when it is loaded, and finds the others through the program.
  INTERFACE_LINK_LIBRARIES "\
-Wl,--push-state,--no-as-needed,${_tf_ext_lib}/libtensorflow_ext.so,\
${_tf_ext_tf_lib}/libtensorflow_framework.so.2,${_tf_ext_tf_lib}/libtensorflow_cc.so.2,--pop-state;\
tensorflow_ext::tensorflow_framework;tensorflow_ext::tensorflow_cc")

foreach(_tf_ext_archive IN LISTS _tf_ext_archives)
  get_filename_component(_tf_ext_part "${_tf_ext_archive}" NAME_WE)
  string(REPLACE libtensorflow_ext_ "" _tf_ext_part "${_tf_ext_part}")
  add_library(tensorflow_ext::${_tf_ext_part} STATIC IMPORTED)
  set_target_properties(tensorflow_ext::${_tf_ext_part} PROPERTIES
    IMPORTED_LOCATION "${_tf_ext_archive}"
    INTERFACE_LINK_LIBRARIES tensorflow_ext::tensorflow_ext)
  list(APPEND _tf_ext_parts tensorflow_ext::${_tf_ext_part})
endforeach()

if(_tf_ext_sources)
  add_library(tensorflow_ext::cc INTERFACE IMPORTED)
  set_target_properties(tensorflow_ext::cc PROPERTIES
    INTERFACE_LINK_LIBRARIES tensorflow_ext::tensorflow_ext
    INTERFACE_SOURCES "${_tf_ext_sources}")
endif()

option(tensorflow_ext_CUDA "Build CUDA kernels where there is a CUDA compiler" ON)
if(tensorflow_ext_CUDA AND NOT CMAKE_CUDA_COMPILER)
  include(CheckLanguage)
  check_language(CUDA)
endif()
if(tensorflow_ext_CUDA AND CMAKE_CUDA_COMPILER)
  # A100, H100 and their successors.
  if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
    set(CMAKE_CUDA_ARCHITECTURES 80-real 90)
  endif()
  # pip's packages have the libraries in lib, but nvcc searches lib64.
  get_filename_component(_tf_ext_toolkit "${CMAKE_CUDA_COMPILER}/../.." ABSOLUTE)
  if(EXISTS "${_tf_ext_toolkit}/lib/libcudart_static.a")
    set(ENV{LIBRARY_PATH} "${_tf_ext_toolkit}/lib:$ENV{LIBRARY_PATH}")
  endif()
  enable_language(CUDA)
  find_library(tensorflow_ext_CUDART libcudart_static.a REQUIRED
    HINTS "${CMAKE_CUDA_COMPILER_TOOLKIT_ROOT}" "${_tf_ext_toolkit}"
    PATH_SUFFIXES lib64 lib targets/x86_64-linux/lib)
endif()

set(_tf_ext_launch "${_tf_ext_includes}")
list(TRANSFORM _tf_ext_launch APPEND /tensorflow_ext/kernels/launch.cu.cc)
list(GET _tf_ext_launch 0 _tf_ext_launch)

# Variables that the function below uses, wherever it is called.
foreach(_tf_ext_name launch options packages parts)
  set_property(GLOBAL PROPERTY _tf_ext_${_tf_ext_name} "${_tf_ext_${_tf_ext_name}}")
endforeach()

function(tf_ext_add_op_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SRCS;CUDA_SRCS;XLA_SRCS;DEPS")
  if(NOT arg_SRCS OR arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "tf_ext_add_op_library(${name} ${ARGN}): expected SRCS and, "
      "where wanted, CUDA_SRCS, XLA_SRCS and DEPS, each with what belongs to it.")
  endif()
  foreach(property options parts launch)
    get_property(${property} GLOBAL PROPERTY _tf_ext_${property})
  endforeach()

  add_library(${name} SHARED ${arg_SRCS} ${arg_XLA_SRCS})
  set_target_properties(${name} PROPERTIES
    CXX_EXTENSIONS OFF
    CUDA_VISIBILITY_PRESET hidden
    POSITION_INDEPENDENT_CODE ON)
  target_compile_options(${name} PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:${options}>")
  if(arg_CUDA_SRCS AND CMAKE_CUDA_COMPILER)
    set_source_files_properties(${arg_CUDA_SRCS} ${launch} PROPERTIES LANGUAGE CUDA)
    target_sources(${name} PRIVATE ${arg_CUDA_SRCS} ${launch})
    target_compile_definitions(${name} PRIVATE TENSORFLOW_EXT_CUDA=1)
    # The whole library comes first, because the library of TensorFlow's GPU wheel
    # exports stubs of the same names.
    set_target_properties(${name} PROPERTIES CUDA_RUNTIME_LIBRARY None)
    target_link_libraries(${name} PRIVATE -Wl,--whole-archive
      "${tensorflow_ext_CUDART}" -Wl,--no-whole-archive dl rt pthread)
  endif()
  target_link_libraries(${name} PRIVATE ${arg_DEPS} ${parts} -Wl,-z,defs)
endfunction()

function(tf_ext_add_cc_ops name)
  get_property(packages GLOBAL PROPERTY _tf_ext_packages)
  set(written "${CMAKE_CURRENT_BINARY_DIR}/${name}_cc_ops")
  add_custom_command(
    OUTPUT "${written}.h" "${written}.cc"
    COMMAND "${CMAKE_COMMAND}" -E env "PYTHONPATH=${packages}:$ENV{PYTHONPATH}"
      "${Python3_EXECUTABLE}" -m tensorflow_ext wrappers --cxx
      --library "$<TARGET_FILE:${name}>" --name "${name}" --write "${written}.h"
    DEPENDS ${name}
    COMMENT "Writing ${name}_cc_ops.h"
    VERBATIM)
  add_library(${name}_cc_ops STATIC "${written}.cc" "${written}.h")
  target_include_directories(${name}_cc_ops PUBLIC "${CMAKE_CURRENT_BINARY_DIR}")
  target_link_libraries(${name}_cc_ops PUBLIC tensorflow_ext::tensorflow_ext)
endfunction()
