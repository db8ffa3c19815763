#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# openssl: keys, a certificate, a cipher, digests.
. "$top_srcdir/tests/programs/same.sh"

needs openssl openssl
counts="openssl"

job()
{
	seq 100000 >in
	openssl dgst -sha512 in
	openssl enc -aes-256-cbc \
		-K "$(printf '%064d' 7)" \
		-iv 000102030405060708090a0b0c0d0e0f -in in -out out
	openssl dgst -sha3-256 out
	openssl genpkey -quiet -algorithm ED25519 -out key 2>/dev/null ||
		openssl genpkey -algorithm ED25519 -out key
	openssl req -new -x509 -key key -subj /CN=test -days 2 -out cert
	openssl verify -CAfile cert cert
	openssl x509 -in cert -noout -subject
	openssl prime -generate -bits 256 | wc -l
}

same_result "$@"
