#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: all
# cmake: configure a small project and run its script language.
. "$top_srcdir/tests/programs/same.sh"

needs cmake cmake
needs make make
needs gcc gcc
counts="cmake"

job()
{
	mkdir src
	cat >src/CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.13)
project(small C)
foreach(i RANGE 1 50)
	file(WRITE ${CMAKE_BINARY_DIR}/f${i}.c "int f${i}(void) { return ${i}; }\n")
	list(APPEND sources ${CMAKE_BINARY_DIR}/f${i}.c)
endforeach()
add_library(small STATIC ${sources})
list(LENGTH sources n)
message(STATUS "sources: ${n}")
END
	cmake -S src -B build -G 'Unix Makefiles' | grep -v seconds |
		sed 's/ (.*s)$//'
	MAKEFLAGS='' make -s -C build >/dev/null && ar t build/libsmall.a | sort
}

same_result "$@"
