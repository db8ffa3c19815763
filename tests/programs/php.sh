#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: all
# php: extensions loaded with RTLD_DEEPBIND, strings, arrays, its own heap off.
. "$top_srcdir/tests/programs/same.sh"

needs php php-cli
counts="php"
# Its extensions free blocks of the others with the C library's free.
reference=plain

job()
{
	cat >job.php <<'END'
<?php
$a = [];
for ($i = 0; $i < 20000; $i++)
	$a["key $i"] = str_repeat(chr(97 + $i % 26), $i % 300);
ksort($a);
echo count($a), " ", md5(serialize($a)), "\n";
echo extension_loaded("pdo") ? "pdo" : "no pdo", " ",
	strlen(json_encode(array_slice($a, 0, 1000))), "\n";
$t = iconv("UTF-8", "UTF-16LE", str_repeat("äöü", 5000));
echo strlen($t), " ", preg_match_all("/a+b?/", implode(",", $a)), "\n";
class Node { public $next; public $value; }
$head = null;
for ($i = 0; $i < 50000; $i++) {
	$n = new Node;
	$n->next = $head;
	$n->value = "v$i";
	$head = $n;
	if ($i % 1000 == 0)
		$head = null;
}
echo $head->value, "\n";
END
	php job.php && USE_ZEND_ALLOC=0 php job.php
}

same_result "$@"
