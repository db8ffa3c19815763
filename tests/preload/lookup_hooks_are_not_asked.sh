#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: all
# A preloaded library that defines dlsym, dladdr or dl_iterate_phdr, as MangoHud,
# uftrace and fakechroot do, hurts nobody: programs load libraries, throw and are
# sampled beside it, whichever is named first, and with each engine.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
workdir
needs fakechroot fakechroot
[ "${PYTHON3:-none}" != none ] || skip "python3 is not installed"

# The first version of dlsym that this C library has.
version=$(printf '#include <dlfcn.h>\nint main(void) { return !dlsym(0, ""); }' |
	compile -x c - -o "$WORK/probe" -ldl &&
	objdump -T "$WORK/probe" | sed -n 's/.*(*\(GLIBC_[0-9.]*\))* *dlsym$/\1/p')
compile -O1 -fPIC -shared -DDLSYM_VERSION="\"$version\"" -o "$WORK/libhook.so" \
	"$top_srcdir/tests/preload/lookup.c" -ldl

cat >"$WORK/job.py" <<'END'
import ctypes
z = ctypes.CDLL("libz.so.1")
z.zlibVersion.restype = ctypes.c_char_p
for i in range(2000):
    bytes(i)
print("loaded", z.zlibVersion().decode()[0])
END
# An operator that goes on to the C++ library's, which throws.
cat >"$WORK/throw.cc" <<'END'
#include <cstdio>
#include <new>
int main()
{
	volatile std::size_t size = ~std::size_t(0) / 4;
	try {
		delete[] new char[size];
	} catch (const std::bad_alloc &) {
		std::puts("thrown");
	}
}
END
${CXX:-g++} -O0 -o "$WORK/throw" "$WORK/throw.cc"

# run PRELOAD: what both print
run() {
	LD_PRELOAD=$1 timeout -k 9 60 "$PYTHON3" "$WORK/job.py" 2>&1 ||
		echo "status $? of python"
	LD_PRELOAD=$1 timeout -k 9 60 "$WORK/throw" 2>&1 ||
		echo "status $? of throw"
}

wanted="loaded 1
thrown"
ran=0
for other in "$WORK/libhook.so" \
	/usr/lib/*/mangohud/libMangoHud_dlsym.so \
	/usr/lib/*/fakechroot/libfakechroot.so; do
	[ -e "$other" ] || continue
	equal "without the library, ${other##*/}" "$wanted" "$(run "$other")"
	for engine in $(engine_names); do
		export KONFISCATOR_ENGINE="$engine"
		equal "behind ${other##*/}, engine $engine" "$wanted" \
			"$(run "$other:$KF_PRELOAD")"
		equal "before ${other##*/}, engine $engine" "$wanted" \
			"$(run "$KF_PRELOAD:$other")"
	done
	unset KONFISCATOR_ENGINE
	export KONFISCATOR_SAMPLE=4K
	equal "sampled behind ${other##*/}" "$wanted" \
		"$(run "$other:$KF_PRELOAD")"
	unset KONFISCATOR_SAMPLE
	ran=$((ran + 1))
done

echo "wanted" >"$WORK/file"
equal "fakechroot" wanted "$(LD_PRELOAD=$KF_PRELOAD timeout -k 9 60 \
	fakechroot /usr/sbin/chroot / /bin/cat "$WORK/file" 2>&1)"
[ "$ran" -eq 3 ] || skip "libMangoHud_dlsym.so is missing (package mangohud)"
