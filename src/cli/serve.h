/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One page, served to the browser of the user who runs the command.
 *
 * Only programs of this user are answered: the kernel tells whose the other end
 * of a connection is. Pages of other sites cannot read the page, as their name
 * in Host is refused.
 */
#ifndef KF_CLI_SERVE_H
#define KF_CLI_SERVE_H

#include "cli/cli.h"

#include <netinet/in.h>

/**
 * kf_serve_parse() - read where to listen
 * @text:	[ADDRESS:]PORT; the address is of the loopback
 * @to:		out: the address
 *
 * Return: false if @text is no such address.
 */
bool kf_serve_parse(const char *text, struct sockaddr_in *to);

/**
 * kf_serve() - serve a page until SIGINT or SIGTERM
 * @cli:	the command line
 * @to:		where to listen; port 0 is any
 * @page:	the page, HTML
 * @size:	bytes of @page
 *
 * The address is printed on stderr, and opened by xdg-open where there is a
 * display.
 *
 * Return: the exit status.
 */
int kf_serve(const struct kf_cli *cli, const struct sockaddr_in *to,
	     const char *page, size_t size);

#endif
