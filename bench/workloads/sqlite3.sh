#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# sqlite3: insert, index, join, update and delete, in memory and in a file.
#
# Usage: sqlite3.sh prepare | memory | file
# needs: sqlite3 sqlite3
set -eu
# Not the scripts that version managers put before the programs.
PATH=/usr/bin:/bin:$PATH
[ "${1:-}" != prepare ] || exit 0

case $1 in
memory) base=:memory: ;;
file) base=./base ;;
*)
	echo "sqlite3.sh: no such work: $1" >&2
	exit 2
	;;
esac
exec sqlite3 -bail "$base" >out <<'END'
PRAGMA synchronous = OFF;
CREATE TABLE a (id INTEGER PRIMARY KEY, k INT, name TEXT, body BLOB);
CREATE TABLE b (id INTEGER PRIMARY KEY, a INT, word TEXT);
BEGIN;
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 60000)
INSERT INTO a SELECT i, i * 7919 % 10007, 'name ' || i, zeroblob(i % 300)
FROM n;
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 90000)
INSERT INTO b SELECT i, i * 31 % 60000, printf('%x word %d', i * 977, i) FROM n;
CREATE INDEX a_k ON a (k);
CREATE INDEX b_word ON b (word);
COMMIT;
SELECT count(*), sum(length(b.word)) FROM a JOIN b ON b.a = a.id
WHERE a.k < 5000;
SELECT k, count(*), group_concat(name, '; ') FROM a GROUP BY k ORDER BY k;
SELECT substr(word, 1, 3) w, count(*) FROM b GROUP BY w ORDER BY 2 DESC, 1;
UPDATE a SET name = upper(name) || k WHERE k % 3 = 0;
DELETE FROM b WHERE a % 5 = 0;
SELECT name FROM a ORDER BY name DESC LIMIT 10;
END
