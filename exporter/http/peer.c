/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Addresses of clients: see peer.h.
 */
#include "config.h"

#include "exporter/http/peer.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#define NETWORK_BYTES 8 /* of an IPv6 address: what one client has */

static const struct kf_peer this_machine;

static void peer_take_ipv4(struct kf_peer *peer, const void *address)
{
	static const unsigned char mapped[12] = {[10] = 0xff, [11] = 0xff};
	unsigned char first;

	memcpy(&first, address, 1);
	if (first == IN_LOOPBACKNET)
		return;
	memcpy(peer->key, mapped, sizeof(mapped));
	memcpy(peer->key + sizeof(mapped), address, 4);
}

void kf_peer_of(const struct sockaddr *address, struct kf_peer *peer)
{
	const struct sockaddr_in6 *six = (const void *)address;
	const struct sockaddr_in *four = (const void *)address;

	*peer = this_machine;
	if (!address)
		return;
	if (address->sa_family == AF_INET) {
		peer_take_ipv4(peer, &four->sin_addr);
	} else if (address->sa_family == AF_INET6) {
		if (IN6_IS_ADDR_V4MAPPED(&six->sin6_addr))
			peer_take_ipv4(peer, six->sin6_addr.s6_addr + 12);
		else if (!IN6_IS_ADDR_LOOPBACK(&six->sin6_addr))
			memcpy(peer->key, &six->sin6_addr, NETWORK_BYTES);
	}
}

bool kf_peer_is_local(const struct kf_peer *peer)
{
	return kf_peer_same(peer, &this_machine);
}

bool kf_peer_same(const struct kf_peer *a, const struct kf_peer *b)
{
	return memcmp(a->key, b->key, sizeof(a->key)) == 0;
}

void kf_peer_name(const struct kf_peer *peer, char *name, socklen_t size)
{
	if (kf_peer_is_local(peer) ||
	    !inet_ntop(AF_INET6, peer->key, name, size))
		snprintf(name, size, "localhost");
}
