/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Listening sockets.
 */
#ifndef KF_EXPORTER_HTTP_LISTEN_H
#define KF_EXPORTER_HTTP_LISTEN_H

#include "base/compiler.h"

#define KF_LISTEN_UNIX "unix:"

/**
 * kf_listen() - make a listening socket
 * @address:	HOST:PORT, [IPV6]:PORT, :PORT, which means all addresses, or
 *		unix:PATH
 * @name:	out: the bound address, for the log
 * @size:	room in @name
 *
 * Return: the socket, or -1; the reason was printed on stderr.
 */
int kf_listen(const char *address, char *name, size_t size);

/**
 * kf_listen_name() - get a socket's address, for the log
 * @fd:		the socket, of any family
 * @name:	out: HOST:PORT, or unix:PATH; empty if unknown
 * @size:	room in @name
 */
void kf_listen_name(int fd, char *name, size_t size);

/**
 * kf_listen_is_local() - whether only this machine can connect to a socket
 * @fd:		the socket, of any family
 *
 * Return: true for a loopback address and a Unix socket.
 */
bool kf_listen_is_local(int fd);

#endif
