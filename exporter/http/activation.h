/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Sockets that systemd listened on and passes to the service that it starts
 * (sd_listen_fds(3)). The protocol is three lines of environment and a number,
 * promised to stay; so libsystemd, with all that it needs, is not linked.
 */
#ifndef KF_EXPORTER_HTTP_ACTIVATION_H
#define KF_EXPORTER_HTTP_ACTIVATION_H

#include "base/compiler.h"

/**
 * kf_activation_sockets() - the sockets that were passed to this process
 * @fds:	out: listening stream sockets, close-on-exec
 * @max:	room in @fds
 *
 * Takes them out of the environment, so that no child thinks they are its own.
 *
 * Context: once, before there are threads.
 * Return: how many, 0 where none were passed; -1 where something else than
 *	   listening stream sockets was, or more than @max: the reason was
 *	   printed on stderr.
 */
int kf_activation_sockets(int *fds, unsigned int max);

#endif
