# SPDX-License-Identifier: LGPL-2.1-or-later
# Many children, for programs that make them by vfork() or posix_spawn().
all: $(addprefix n,1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20)
	@echo done
n%:
	@: $(foreach i,1 2 3 4 5 6 7 8 9,$(shell echo $(i)$*))
