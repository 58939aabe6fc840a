#!/usr/bin/env bash
# Builds the op library and the C client, with only the compiler:
#
#   ./build.sh [FOLDER]    PYTHON=... names the interpreter that has tensorflow_ext

set -euo pipefail
folder=$(realpath "${1:-.}")
cd "$(dirname "${BASH_SOURCE[0]}")"

export TF_CPP_MIN_LOG_LEVEL=3
mapfile -t flags < <("${PYTHON:-python}" -c '
from tensorflow_ext import sysconfig
print(*sysconfig.get_compile_flags(op_library=True))
print(*sysconfig.get_link_flags(op_library=True))
print(*sysconfig.get_compile_flags(c=True))
print(*sysconfig.get_link_flags(rpath=True))')

g++ -Wall -Wextra -Werror squareplus.cc squareplus_grad.cc \
  -o "$folder/libyour_op.so" ${flags[0]} ${flags[1]}

gcc -Wall -Wextra -Werror client.c -o "$folder/client" ${flags[2]} ${flags[3]} -lm
