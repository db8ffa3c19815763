#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# The stats file is open to others: whatever bytes they leave where orders are
# written, the program answers that it is none, and runs on.
# shellcheck source=tests/lib.sh
. "${top_srcdir:?}/tests/lib.sh"
workdir
# shellcheck source=tests/record/record.sh
. "$top_srcdir/tests/record/record.sh"
needs "$PYTHON3" python3

start_exchange ''
file=$(ls "$KONFISCATOR_DIR"/*."$pid".*)

# answers WANT BYTES [TIMES]
answers() {
	equal "the answer to '$2'" "$1" \
		"$("$PYTHON3" "$top_srcdir/tests/record/order.py" "$file" "$2" "${3:-1}")"
}

answers '22 the order has no =' ''
answers '22 the order has no =' 'record'
answers '22 there is no setting of that name' '=record'
answers '22 there is no setting of that name' 'records=/x'
answers '22 record: the path is not absolute' 'record=x'
answers '22 the order is damaged' 'record=/a\nb'
answers '22 the order is damaged' 'record=\x7f'
# Without an end, and without anything but signs that are allowed.
answers '22 the order is damaged' 'record=/' 744
answers '22 the order is damaged' '\xff' 744
answers '22 the order is damaged' '\x01' 744
# Allowed, and of no use.
answers '22 there is no setting of that name' '\xff\xfe=\xff'
equal "what was recorded" "" "$(find "$WORK" -name "*heap*")"
answers '0 nothing is recorded' 'record='
end_exchange 0
