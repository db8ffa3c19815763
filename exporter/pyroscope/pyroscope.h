/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Heap profiles for Pyroscope, by its service push.v1.PusherService: a profile
 * of pprof's format, with the labels of its series.
 *
 * The labels are those of OTLP's resource, with _ for what a label's name may
 * not have: service_name is the name of the group, container_id its container.
 * __name__ is "memory", as that of the profiles which Grafana Alloy scrapes.
 */
#ifndef KF_EXPORTER_PYROSCOPE_PYROSCOPE_H
#define KF_EXPORTER_PYROSCOPE_PYROSCOPE_H

#include "exporter/push/post.h"

/**
 * kf_pyroscope_profile() - make a request of a profile
 * @pprof:	a profile of reader/pprof.h, packed
 * @name:	name of the group
 * @container:	its container, or ""
 *
 * Return: the request; NULL when out of memory.
 */
struct kf_post_request *kf_pyroscope_profile(const struct kf_buf *pprof,
					     const char *name,
					     const char *container);

/**
 * kf_pyroscope_failed() - read the answer to a request that was not accepted
 * @body:	the answer
 * @a:		out: what the receiver says is added
 */
void kf_pyroscope_failed(const struct kf_buf *body, struct kf_post_answer *a);

#endif
