/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The HTTP server: serves metrics and pages.
 *
 * Connections, their memory and their time are bounded, so that slow clients
 * are disconnected. A scrape beyond the limit gets 503 at once. Every response
 * has a Content-Type and a strict Content-Security-Policy. With passwords
 * configured, a client without one learns nothing, not even which paths exist.
 */
#ifndef KF_EXPORTER_HTTP_H
#define KF_EXPORTER_HTTP_H

#include "exporter/collect/collector.h"
#include "exporter/config/options.h"

struct kf_http;

/**
 * kf_http_start() - listen on all addresses, or passed sockets, and serve
 * @options:	outlives the server
 * @sources:	outlives the server
 *
 * Context: once; starts threads, which inherit the signal mask.
 * Return: the server, or NULL; the reason was printed on stderr.
 */
struct kf_http *kf_http_start(const struct kf_options *options,
			      const struct kf_sources *sources);

/**
 * kf_http_tick() - do periodic work
 * @http:	the server
 *
 * Context: any thread, about once a second.
 */
void kf_http_tick(struct kf_http *http);

/**
 * kf_http_stop() - close all connections and wait for the threads
 * @http:	the server, or NULL
 *
 * Context: once, from the thread that started it.
 */
void kf_http_stop(struct kf_http *http);

#endif
