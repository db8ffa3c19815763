/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The identity of a client for limits: its address.
 *
 * An IPv6 /64 network counts as one client, since its owner has all of its
 * addresses; so do the loopback and all Unix sockets.
 */
#ifndef KF_EXPORTER_HTTP_PEER_H
#define KF_EXPORTER_HTTP_PEER_H

#include "base/compiler.h"

#include <sys/socket.h>

struct kf_peer {
	unsigned char key[16]; /* of IPv6, IPv4 mapped; 0: this machine */
};

/**
 * kf_peer_of() - get the client of an address
 * @address:	its address; NULL: this machine
 * @peer:	out: the client
 */
void kf_peer_of(const struct sockaddr *address, struct kf_peer *peer);

/**
 * kf_peer_is_local() - whether a client is on this machine
 * @peer:	the client
 *
 * Return: true if it uses the loopback or a Unix socket.
 */
bool kf_peer_is_local(const struct kf_peer *peer);

/**
 * kf_peer_same() - whether two clients are the same
 * @a:		a client
 * @b:		a client
 *
 * Return: true if so.
 */
bool kf_peer_same(const struct kf_peer *a, const struct kf_peer *b);

/**
 * kf_peer_name() - write the name of a client
 * @peer:	the client
 * @name:	out: an address, or "localhost"
 * @size:	room in @name, INET6_ADDRSTRLEN or more
 */
void kf_peer_name(const struct kf_peer *peer, char *name, socklen_t size);

#endif
