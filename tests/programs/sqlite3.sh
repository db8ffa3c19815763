#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# sqlite3: a table, indices, a sort, json, a vacuum.
. "$top_srcdir/tests/programs/same.sh"

needs sqlite3 sqlite3
counts="sqlite3"

job()
{
	sqlite3 -batch -init /dev/null db 2>&1 <<'END'
create table t(a integer primary key, b text, c real);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 30000)
insert into t select i, printf('%08d', i * 7919 % 30011), i / 7.0 from n;
create index tb on t(b);
select count(*), min(b), max(b) from t;
select b from t order by c * 1000 % 97, b limit 3;
select substr(b, 6), count(*) from t group by 1 order by 2 desc, 1 limit 3;
select json_group_array(b) from (select b from t order by b limit 5);
delete from t where a % 3;
vacuum;
pragma integrity_check;
END
}

same_result "$@"
