/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Who a client is, for limits: the address that it comes from.
 *
 * Clients that may have several addresses at no cost are one: a network of 64
 * bits of IPv6, and all of this machine's own loopback and Unix sockets.
 */
#ifndef KF_EXPORTER_HTTP_PEER_H
#define KF_EXPORTER_HTTP_PEER_H

#include "base/compiler.h"

#include <sys/socket.h>

struct kf_peer {
	unsigned char key[16]; /* of IPv6, IPv4 mapped; 0: this machine */
};

/**
 * kf_peer_of() - who has an address
 * @address:	of a client; NULL counts as this machine
 * @peer:	out: who
 *
 * Context: any thread.
 */
void kf_peer_of(const struct sockaddr *address, struct kf_peer *peer);

/**
 * kf_peer_is_local() - whether a client is on this machine
 * @peer:	who
 *
 * Context: any thread.
 * Return: true if it came by the loopback or by a Unix socket.
 */
bool kf_peer_is_local(const struct kf_peer *peer);

/**
 * kf_peer_same() - whether two are one
 * @a:		who
 * @b:		who
 *
 * Context: any thread.
 * Return: true if so.
 */
bool kf_peer_same(const struct kf_peer *a, const struct kf_peer *b);

/**
 * kf_peer_name() - write who a client is
 * @peer:	who
 * @name:	out: an address, or "localhost"
 * @size:	room in @name, INET6_ADDRSTRLEN or more
 *
 * Context: any thread.
 */
void kf_peer_name(const struct kf_peer *peer, char *name, socklen_t size);

#endif
