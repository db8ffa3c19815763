#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# A program loads one object after the other: when the mappings are read again for
# the new one, what was known before is not looked at once more.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
needs gcc build-essential
needs strace strace
workdir
cd "$WORK"

strace -f -o log true || skip "strace may not trace here"

cat >plug.c <<'END'
#include <stdlib.h>
void plug(void);
void plug(void)
{
	void *volatile block = malloc(140000);
	free(block);
}
END
cat >loads.c <<'END'
#include <dlfcn.h>
#include <stddef.h>
int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		void *object = dlopen(argv[i], RTLD_NOW);
		void (*plug)(void) = NULL;

		if (object)
			*(void **)&plug = dlsym(object, "plug");
		if (!plug)
			return 1;
		plug();
	}
	return 0;
}
END
gcc -O2 -o loads loads.c -ldl || fail "the program cannot be built"
for n in 1 2 3 4; do
	gcc -O2 -shared -fPIC -o "plug$n.so" plug.c ||
		fail "the object cannot be built"
done
strace -f -e trace=process_vm_readv -e signal=none -o log \
	-E LD_PRELOAD="$KF_PRELOAD" -E KONFISCATOR_SAMPLE=1 \
	./loads ./plug1.so ./plug2.so ./plug3.so ./plug4.so ||
	fail "loads ended with $?"
# The ELF header is 64 bytes: for its stamp, for its entry, and for an interpreter.
sed -n 's/.*\[{iov_base=\(0x[0-9a-f]*\), iov_len=64}\], 1, 0) = 64$/\1/p' log |
	sort | uniq -c | sort -n >reads
[ "$(wc -l <reads)" -ge 6 ] || fail "few objects were read: $(cat reads)"
most=$(tail -n 1 reads)
echo "most reads of an object: $most"
[ "${most% *}" -le 3 ] || fail "an object was read again: $(cat reads)"
