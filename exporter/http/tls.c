/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Certificates: see tls.h. A pair that a handshake has used is kept until the
 * end, since the end of a handshake is not reported; certificates change a few
 * times a year.
 */
#include "config.h"

#include "exporter/http/tls.h"
#include "exporter/log.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_CHAIN 16

struct pair {
	struct pair *next; /* previous pair */
	unsigned int nr;
	gnutls_pcert_st chain[MAX_CHAIN];
	gnutls_privkey_t key;
};

/* A global: GnuTLS' callback has no user argument. */
static struct {
	const struct kf_web_config *config; /* at the start */
	struct kf_web *web;
	char priorities[KF_PRIORITIES_SIZE];
	gnutls_x509_trust_list_t clients; /* NULL: clients are not verified */
	pthread_mutex_t lock;		  /* for all below */
	struct stat cert, key;		  /* state at the last check */
	struct pair *pairs;
} tls = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void tls_pair_free(struct pair *p)
{
	unsigned int i;

	for (i = 0; i < p->nr; i++)
		gnutls_pcert_deinit(&p->chain[i]);
	if (p->key)
		gnutls_privkey_deinit(p->key);
	free(p);
}

/* Free the result with tls_unload(). */
static int tls_load(const struct kf_web_pem *from, gnutls_datum_t *pem)
{
	if (!from->text)
		return gnutls_load_file(from->file, pem);
	pem->size = (unsigned int)strlen(from->text);
	pem->data = gnutls_malloc(pem->size + 1);
	if (!pem->data)
		return GNUTLS_E_MEMORY_ERROR;
	memcpy(pem->data, from->text, pem->size + 1);
	return 0;
}

static void tls_unload(gnutls_datum_t *pem)
{
	gnutls_memset(pem->data, 0, pem->size);
	gnutls_free(pem->data);
}

/* Log the name of a file, never its contents. */
static const char *tls_name_of(const struct kf_web_pem *from, const char *key)
{
	return from->text ? key : from->file;
}

static int tls_load_chain(struct pair *p, const struct kf_web_pem *from)
{
	gnutls_datum_t pem = {0};
	int rc = tls_load(from, &pem);

	if (rc)
		return rc;
	p->nr = MAX_CHAIN;
	rc = gnutls_pcert_list_import_x509_raw(p->chain, &p->nr, &pem,
					       GNUTLS_X509_FMT_PEM, 0);
	if (rc)
		p->nr = 0;
	tls_unload(&pem);
	return rc;
}

static int tls_load_key(struct pair *p, const struct kf_web_pem *from)
{
	gnutls_datum_t pem = {0};
	int rc = tls_load(from, &pem);

	if (rc)
		return rc;
	rc = gnutls_privkey_init(&p->key);
	if (!rc)
		rc = gnutls_privkey_import_x509_raw(
			p->key, &pem, GNUTLS_X509_FMT_PEM, NULL, 0);
	tls_unload(&pem);
	return rc;
}

static int tls_key_id(gnutls_pubkey_t pub, unsigned char id[32])
{
	size_t size = 32;

	return gnutls_pubkey_get_key_id(pub, GNUTLS_KEYID_USE_SHA256, id,
					&size);
}

static int tls_check_pair(const struct pair *p)
{
	unsigned char ours[32], theirs[32];
	gnutls_pubkey_t pub;
	int rc = gnutls_pubkey_init(&pub);

	if (rc)
		return rc;
	rc = gnutls_pubkey_import_privkey(pub, p->key, 0, 0);
	if (!rc)
		rc = tls_key_id(pub, ours);
	if (!rc)
		rc = tls_key_id(p->chain[0].pubkey, theirs);
	if (!rc && memcmp(ours, theirs, sizeof(ours)) != 0)
		rc = GNUTLS_E_CERTIFICATE_KEY_MISMATCH;
	gnutls_pubkey_deinit(pub);
	return rc;
}

/* GnuTLS does not report why a file cannot be read. */
static const char *tls_reason(const char *file, int rc)
{
	int fd = -1;

	if (rc == GNUTLS_E_FILE_ERROR)
		fd = open(file, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (rc == GNUTLS_E_FILE_ERROR && fd < 0)
		return strerror(errno);
	if (fd >= 0)
		close(fd);
	return gnutls_strerror(rc);
}

/* Reload the pair; on failure the previous one stays. Return GnuTLS' error. */
static int tls_load_pair(const char **what)
{
	const struct kf_web_config *c = tls.config;
	struct pair *p = calloc(1, sizeof(*p));
	int rc;

	*what = tls_name_of(&c->cert, "cert");
	if (!p)
		return GNUTLS_E_MEMORY_ERROR;
	rc = tls_load_chain(p, &c->cert);
	if (!rc) {
		*what = tls_name_of(&c->key, "key");
		rc = tls_load_key(p, &c->key);
	}
	if (!rc)
		rc = tls_check_pair(p);
	if (rc) {
		tls_pair_free(p);
		return rc;
	}
	p->next = tls.pairs;
	tls.pairs = p;
	return 0;
}

static bool tls_is_changed(const struct kf_web_pem *from, struct stat *seen)
{
	struct stat st = {0};
	bool same;

	if (from->text)
		return false;
	stat(from->file, &st);
	same = st.st_ino == seen->st_ino && st.st_size == seen->st_size &&
	       st.st_mtim.tv_sec == seen->st_mtim.tv_sec &&
	       st.st_mtim.tv_nsec == seen->st_mtim.tv_nsec;
	*seen = st;
	return !same;
}

int kf_tls_certificate(gnutls_session_t session,
		       const gnutls_datum_t *req_ca_rdn, int nreqs,
		       const gnutls_pk_algorithm_t *pk_algos, int nr_algos,
		       gnutls_pcert_st **pcert, unsigned int *nr_pcert,
		       gnutls_privkey_t *key)
{
	bool cert_changed, key_changed;
	const char *what = "";
	int rc = 0;

	pthread_mutex_lock(&tls.lock);
	cert_changed = tls_is_changed(&tls.config->cert, &tls.cert);
	key_changed = tls_is_changed(&tls.config->key, &tls.key);
	if (cert_changed || key_changed)
		rc = tls_load_pair(&what);
	*pcert = tls.pairs->chain;
	*nr_pcert = tls.pairs->nr;
	*key = tls.pairs->key;
	pthread_mutex_unlock(&tls.lock);
	if (rc)
		kf_log(KF_LOG_ERROR,
		       "invalid certificate: keeping the previous one", "file",
		       what, "error", tls_reason(what, rc), NULL);
	return 0;
}

static bool tls_fail(const char *file, const char *error)
{
	fprintf(stderr, "konfiscator_exporter: %s: %s\n", file, error);
	return false;
}

static bool tls_trust(const struct kf_web_pem *from)
{
	const char *what = tls_name_of(from, "client_ca");
	gnutls_datum_t pem = {0};
	int rc = tls_load(from, &pem);

	if (!rc)
		rc = gnutls_x509_trust_list_init(&tls.clients, 0);
	if (!rc)
		rc = gnutls_x509_trust_list_add_trust_mem(
			tls.clients, &pem, NULL, GNUTLS_X509_FMT_PEM, 0, 0);
	if (pem.data)
		tls_unload(&pem);
	if (rc > 0)
		return true;
	return tls_fail(what,
			rc ? tls_reason(what, rc) : "no certificate found");
}

bool kf_tls_begin(const struct kf_web_config *c, struct kf_web *web)
{
	const char *what;
	int rc;

	tls.config = c;
	tls.web = web;
	kf_suites_priorities(&c->suites, c->min_version, c->max_version,
			     tls.priorities);
	tls_is_changed(&c->cert, &tls.cert);
	tls_is_changed(&c->key, &tls.key);
	rc = tls_load_pair(&what);
	if (rc)
		return tls_fail(what, tls_reason(what, rc));
	return !kf_web_pem_is_set(&c->client_ca) || tls_trust(&c->client_ca);
}

void kf_tls_end(void)
{
	struct pair *p;

	while ((p = tls.pairs)) {
		tls.pairs = p->next;
		tls_pair_free(p);
	}
	if (tls.clients)
		gnutls_x509_trust_list_deinit(tls.clients, 1);
	tls.clients = NULL;
}

const char *kf_tls_priorities(void)
{
	return tls.priorities;
}

static int tls_import_chain(gnutls_x509_crt_t *crt, const gnutls_datum_t *raw,
			    unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++) {
		if (gnutls_x509_crt_init(&crt[i]) != 0)
			break;
		if (gnutls_x509_crt_import(crt[i], &raw[i],
					   GNUTLS_X509_FMT_DER) != 0) {
			gnutls_x509_crt_deinit(crt[i]);
			break;
		}
	}
	return (int)i;
}

/* A name of a certificate as text; @raw is terminated. False for other kinds.
 */
static bool tls_name(int kind, const char *raw, size_t size, char *text,
		     size_t text_size)
{
	switch (kind) {
	case GNUTLS_SAN_DNSNAME:
	case GNUTLS_SAN_RFC822NAME:
	case GNUTLS_SAN_URI:
		return strlen(raw) == size &&
		       snprintf(text, text_size, "%s", raw) < (int)text_size;
	case GNUTLS_SAN_IPADDRESS:
		return (size == 4 || size == 16) &&
		       inet_ntop(size == 4 ? AF_INET : AF_INET6, raw, text,
				 (socklen_t)text_size);
	default:
		return false;
	}
}

static bool tls_is_listed(const struct kf_web_config *c, const char *name)
{
	for (unsigned int i = 0; i < c->nr_sans; i++) {
		if (strcmp(c->san[i], name) == 0)
			return true;
	}
	return false;
}

/* Whether one of the certificate's names is allowed. */
static bool tls_is_allowed(const struct kf_web_config *c, gnutls_x509_crt_t crt)
{
	char raw[512], text[512];
	int kind;

	for (unsigned int i = 0;; i++) {
		size_t size = sizeof(raw) - 1;

		kind = gnutls_x509_crt_get_subject_alt_name(crt, i, raw, &size,
							    NULL);
		if (kind == GNUTLS_E_SHORT_MEMORY_BUFFER)
			continue;
		if (kind < 0)
			return false;
		raw[size] = '\0';
		if (!tls_name(kind, raw, size, text, sizeof(text)))
			continue;
		if (tls_is_listed(c, text))
			return true;
	}
}

static bool tls_is_trusted(gnutls_x509_crt_t *crt, unsigned int nr)
{
	gnutls_typed_vdata_st purpose = {
		.type = GNUTLS_DT_KEY_PURPOSE_OID,
		.data = (unsigned char *)(size_t)GNUTLS_KP_TLS_WWW_CLIENT,
	};
	unsigned int status = GNUTLS_CERT_INVALID;

	return gnutls_x509_trust_list_verify_crt2(tls.clients, crt, nr,
						  &purpose, 1, 0, &status,
						  NULL) == 0 &&
	       status == 0;
}

bool kf_tls_is_named(gnutls_session_t session, const struct kf_web_config *c)
{
	gnutls_x509_crt_t crt;
	unsigned int nr = 0;
	const gnutls_datum_t *raw = gnutls_certificate_get_peers(session, &nr);
	bool named;

	if (!c->nr_sans)
		return true;
	if (!raw || !nr || tls_import_chain(&crt, raw, 1) != 1)
		return false;
	named = tls_is_allowed(c, crt);
	gnutls_x509_crt_deinit(crt);
	return named;
}

/* While the configuration has an error, all requests are refused anyway. */
static bool tls_has_name_of_now(gnutls_session_t session)
{
	const struct kf_web_config *now = kf_web_get(tls.web);
	bool named = !now || kf_tls_is_named(session, now);

	kf_web_put(tls.web, now);
	return named;
}

static bool tls_chain_is_trusted(const gnutls_datum_t *raw, unsigned int nr)
{
	gnutls_x509_crt_t crt[MAX_CHAIN];
	int got = tls_import_chain(crt, raw, nr);
	bool right = got == (int)nr && tls_is_trusted(crt, nr);

	while (got)
		gnutls_x509_crt_deinit(crt[--got]);
	return right;
}

/* Is a gnutls_certificate_verify_function: 0 lets the client in. */
static int tls_verify_client(gnutls_session_t session)
{
	enum kf_client_auth auth = tls.config->client_auth;
	unsigned int nr = 0;
	const gnutls_datum_t *raw = gnutls_certificate_get_peers(session, &nr);

	if (!raw || !nr)
		return auth == KF_CLIENT_VERIFY_IF_GIVEN
			       ? 0
			       : GNUTLS_E_CERTIFICATE_ERROR;
	if (nr > MAX_CHAIN ||
	    (auth != KF_CLIENT_REQUIRE_ANY && !tls_chain_is_trusted(raw, nr)))
		return GNUTLS_E_CERTIFICATE_ERROR;
	return tls_has_name_of_now(session) ? 0 : GNUTLS_E_CERTIFICATE_ERROR;
}

void kf_tls_client(gnutls_session_t session)
{
	switch (tls.config->client_auth) {
	case KF_CLIENT_REQUIRE_ANY:
	case KF_CLIENT_REQUIRE_AND_VERIFY:
		gnutls_certificate_server_set_request(session,
						      GNUTLS_CERT_REQUIRE);
		gnutls_session_set_verify_function(session, tls_verify_client);
		break;
	case KF_CLIENT_VERIFY_IF_GIVEN:
		gnutls_certificate_server_set_request(session,
						      GNUTLS_CERT_REQUEST);
		gnutls_session_set_verify_function(session, tls_verify_client);
		break;
	case KF_CLIENT_REQUEST:
		gnutls_certificate_server_set_request(session,
						      GNUTLS_CERT_REQUEST);
		break;
	default:
		break;
	}
}
