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

# order BYTES: write them as the order's text, in Python's notation, and print
# the result and the reply
cat >"$WORK/order.py" <<'END'
import ast, struct, sys, time

TEXT, REPLY = 744, 256
text = ast.literal_eval("b'" + sys.argv[2] + "'") * int(sys.argv[3])
with open(sys.argv[1], "r+b", buffering=0) as file:
    # The sections' places follow 32 bytes of the header; it is the fifth.
    file.seek(32 + 4 * 16)
    (at,) = struct.unpack("<I", file.read(4))
    file.seek(at)
    request, answer = struct.unpack("<2Q", file.read(16))
    file.seek(at + 24)
    file.write(text[:TEXT].ljust(TEXT, b"\0"))
    file.seek(at)
    file.write(struct.pack("<Q", request + 1))
    end = time.monotonic() + 60
    while answer != request + 1:
        if time.monotonic() > end:
            sys.exit("no answer in 60 s")
        time.sleep(0.01)
        file.seek(at + 8)
        answer = struct.unpack("<Q", file.read(8))[0]
    result = struct.unpack("<I", file.read(4))[0]
    file.seek(at + 24 + TEXT)
    reply = file.read(REPLY)
    print(result, reply[:reply.index(0)].decode())
END

# answers WANT BYTES [TIMES]
answers() {
	equal "the answer to '$2'" "$1" \
		"$("$PYTHON3" "$WORK/order.py" "$file" "$2" "${3:-1}")"
}

answers '22 there is no = in the order' ''
answers '22 there is no = in the order' 'record'
answers '22 there is nothing to set of that name' '=record'
answers '22 there is nothing to set of that name' 'records=/x'
answers '22 record: the path is not absolute' 'record=x'
answers '22 the order is damaged' 'record=/a\nb'
answers '22 the order is damaged' 'record=\x7f'
# Without an end, and without anything but signs that are allowed.
answers '22 the order is damaged' 'record=/' 744
answers '22 the order is damaged' '\xff' 744
answers '22 the order is damaged' '\x01' 744
# Allowed, and of no use.
answers '22 there is nothing to set of that name' '\xff\xfe=\xff'
equal "what was recorded" "" "$(find "$WORK" -name "*heap*")"
answers '0 nothing is recorded' 'record='
end_exchange 0
