/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Sockets passed by systemd (sd_listen_fds(3)). The protocol is stable and
 * consists of three environment variables and a number, so libsystemd is not
 * linked.
 */
#ifndef KF_EXPORTER_HTTP_ACTIVATION_H
#define KF_EXPORTER_HTTP_ACTIVATION_H

#include "base/compiler.h"

/**
 * kf_activation_sockets() - get the sockets that were passed to this process
 * @fds:	out: listening stream sockets, close-on-exec
 * @max:	room in @fds
 *
 * Removes the variables from the environment, so that no child uses them.
 *
 * Context: once, before there are threads.
 * Return: their number; or -1, with the reason printed on stderr, if there are
 *	   more than @max, or one is not a listening stream socket.
 */
int kf_activation_sockets(int *fds, unsigned int max);

#endif
