#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# make: a parallel build of a thousand targets, pattern rules, functions.
. "$top_srcdir/tests/programs/same.sh"

needs make make
counts="make"

job()
{
	cat >Makefile <<'END'
NUMBERS := $(shell seq 400)
ALL := $(NUMBERS:%=%.out)
all: $(ALL)
	@cat $(sort $(ALL)) | cksum
	@echo $(words $(foreach n,$(NUMBERS),$(if $(findstring 7,$(n)),$(n))))
%.out:
	@echo $* $(words $(wordlist 1,$*,$(NUMBERS))) >$@
END
	MAKEFLAGS='' make -s -j4 all
}

same_result "$@"
