/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The injector: a mutating admission webhook of Kubernetes that adds the
 * library to pods whose annotations ask for it.
 *
 * Every pod is allowed. One that cannot be changed safely is left alone, and a
 * warning in the answer, which kubectl prints, says why. A pod that has the
 * library is not changed again.
 */
#ifndef KF_EXPORTER_INJECTOR_H
#define KF_EXPORTER_INJECTOR_H

#include "exporter/buf.h"

#define KF_INJECT_PATH "/inject"
/* The API server takes objects of at most 3 MiB. */
#define KF_INJECT_MAX_BODY (4 * KF_MIB)

enum kf_inject_result {
	KF_INJECT_ANSWERED,
	KF_INJECT_WRONG, /* the body is no review */
	KF_INJECT_FAILED /* out of memory */
};

/**
 * kf_inject_answer() - answer an AdmissionReview
 * @image:	the image that has the library
 * @body:	the review, as JSON
 * @size:	bytes of @body
 * @out:	out: the answer as JSON, or a line that says what is wrong
 *
 * Context: any thread; logs pods that are changed or get a warning.
 * Return: KF_INJECT_ANSWERED, or another result, without an answer in @out.
 */
enum kf_inject_result kf_inject_answer(const char *image, const char *body,
				       size_t size, struct kf_buf *out);

#endif
