/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * TLS for the HTTP server: the server's certificate, which a handshake reads
 * again when its files have changed, and requests for client certificates.
 */
#ifndef KF_EXPORTER_HTTP_TLS_H
#define KF_EXPORTER_HTTP_TLS_H

#include "exporter/http/web.h"

#include <gnutls/abstract.h>
#include <gnutls/gnutls.h>

/**
 * kf_tls_begin() - load certificate and client authorities
 * @c:		a configuration with TLS; must stay valid until kf_tls_end()
 * @web:	has the current one, for the names of clients; likewise
 *
 * Context: once, before there are threads; one server a process.
 * Return: false; the reason was printed on stderr.
 */
bool kf_tls_begin(const struct kf_web_config *c, struct kf_web *web);

/**
 * kf_tls_end() - free what kf_tls_begin() and handshakes loaded
 *
 * Context: once, when no connection is left.
 */
void kf_tls_end(void);

/**
 * kf_tls_priorities() - the accepted versions of TLS
 *
 * Context: after kf_tls_begin().
 * Return: a priority string of GnuTLS.
 */
const char *kf_tls_priorities(void);

/**
 * kf_tls_certificate() - the certificate for a handshake
 * @session:	the connection
 * @req_ca_rdn:	unused, as are the next three
 * @nreqs:	unused
 * @pk_algos:	unused
 * @nr_algos:	unused
 * @pcert:	out: the chain
 * @nr_pcert:	out: its length
 * @key:	out: the private key
 *
 * Is a gnutls_certificate_retrieve_function2.
 *
 * Return: 0.
 */
int kf_tls_certificate(gnutls_session_t session,
		       const gnutls_datum_t *req_ca_rdn, int nreqs,
		       const gnutls_pk_algorithm_t *pk_algos, int nr_algos,
		       gnutls_pcert_st **pcert, unsigned int *nr_pcert,
		       gnutls_privkey_t *key);

/**
 * kf_tls_is_named() - whether a client's certificate has an allowed name
 * @session:	the connection, after its handshake
 * @c:		the current configuration
 *
 * Return: true if so, or if any name is allowed.
 */
bool kf_tls_is_named(gnutls_session_t session, const struct kf_web_config *c);

/**
 * kf_tls_client() - request a client certificate if configured
 * @session:	the connection, before its handshake
 */
void kf_tls_client(gnutls_session_t session);

#endif
