/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Metrics and profiles as requests of OTLP.
 *
 * A group of processes is a resource: service.name is its name, container.id
 * its container. The exporter's own metrics are of service
 * konfiscator_exporter. Metrics have the names that they have on /metrics, with
 * the remaining labels as attributes. OTEL_RESOURCE_ATTRIBUTES adds attributes
 * to each resource.
 */
#ifndef KF_EXPORTER_OTLP_OTLP_H
#define KF_EXPORTER_OTLP_OTLP_H

#include "exporter/collect/model.h"
#include "exporter/push/post.h"

/* Attributes of each resource, "name=value,...", percent-encoded. */
#define KF_OTLP_ATTRIBUTES "OTEL_RESOURCE_ATTRIBUTES"

/**
 * kf_otlp_metrics() - make requests of a page
 * @page:	the page
 * @began_ns:	CLOCK_REALTIME from which series count whose start is not known
 * @now_ns:	CLOCK_REALTIME of the page
 *
 * A request has at most some mebibytes, as receivers limit them.
 *
 * Return: the requests, freed by kf_post_free(); NULL for none or when out of
 *	   memory.
 */
struct kf_post_request *kf_otlp_metrics(const struct kf_page *page,
					uint64_t began_ns, uint64_t now_ns);

/**
 * kf_otlp_profile() - make a request of a profile
 * @pprof:	a profile of reader/pprof.h, packed
 * @name:	name of the group
 * @container:	its container, or ""
 *
 * Return: the request; NULL if the profile has no samples, cannot be read, or
 *	   when out of memory.
 */
struct kf_post_request *kf_otlp_profile(const struct kf_buf *pprof,
					const char *name,
					const char *container);

/**
 * kf_otlp_accepted() - read the answer to an accepted request
 * @body:	the answer
 * @a:		out: what was rejected, and what else the receiver says
 */
void kf_otlp_accepted(const struct kf_buf *body, struct kf_post_answer *a);

/**
 * kf_otlp_failed() - read the answer to a request that was not accepted
 * @body:	the answer
 * @a:		out: what the receiver says is added
 */
void kf_otlp_failed(const struct kf_buf *body, struct kf_post_answer *a);

#endif
