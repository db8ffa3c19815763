/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A web.config.file of any bytes: it is taken, or refused with a word why.
 */
#include "config.h"

#include "exporter/config/web_config.h"

#include "tests/fuzz/fuzz.h"

static void check(const struct kf_web_config *c)
{
	fuzz_require(c->nr_users <= KF_MAX_USERS, "more users than room");
	for (unsigned int i = 0; i < c->nr_users; i++)
		fuzz_require(c->user[i].name && c->user[i].hash,
			     "a user without a name or a hash");
	fuzz_require((unsigned int)c->client_auth < KF_NR_CLIENT_AUTHS,
		     "no such way of asking clients");
	fuzz_require(!c->tls || (!c->cert.file != !c->cert.text &&
				 !c->key.file != !c->key.text),
		     "TLS without a certificate");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct kf_web_config c;
	char error[512] = "";
	bool taken = kf_web_config_read(&c, fuzz_file(data, size), error,
					sizeof(error));

	fuzz_require(taken || *error, "a file is refused without a word");
	if (taken)
		check(&c);
	kf_web_config_release(&c);
	return 0;
}
