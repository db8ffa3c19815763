/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * glibc's parameters, meaning the same for our heap, each with the probe that
 * glibc fires: see tune.h.
 */
#include "core/tune.h"

#include "core/core.h"
#include "engines/engine.h"
#include "heap/large.h"
#include "pages/pages.h"
#include "stats/stats.h"

#include "probes/konfiscator-probes.h"

#include <malloc.h>

#define MMAP_THRESHOLD_MAX (32 * KF_MIB)
#define MXFAST_MAX 160

static int perturb;
static int arena_test;
static int mxfast;

static int set_trim(size_t value)
{
	kf_probe_memory_mallopt_trim_threshold(
		value, kf_pages_conf.trim_threshold, !kf_large_conf.dynamic);
	__atomic_store_n(&kf_pages_conf.trim_threshold, value,
			 __ATOMIC_RELAXED);
	kf_large_conf.dynamic = false;
	kf_word_set(KF_WORD_trim_threshold, value);
	return 1;
}

static int set_top_pad(size_t value)
{
	kf_probe_memory_mallopt_top_pad(value, kf_pages_conf.top_pad,
					!kf_large_conf.dynamic);
	kf_pages_conf.top_pad = value;
	kf_large_conf.dynamic = false;
	return 1;
}

static int set_mmap_threshold(size_t value)
{
	if (value > MMAP_THRESHOLD_MAX)
		return 0;
	kf_probe_memory_mallopt_mmap_threshold(
		value, kf_large_conf.mmap_threshold, !kf_large_conf.dynamic);
	__atomic_store_n(&kf_large_conf.mmap_threshold, value,
			 __ATOMIC_RELAXED);
	kf_large_conf.dynamic = false;
	kf_word_set(KF_WORD_mmap_threshold, value);
	return 1;
}

static int set_mmap_max(size_t value)
{
	kf_probe_memory_mallopt_mmap_max(value, kf_large_conf.mmap_max,
					 !kf_large_conf.dynamic);
	kf_large_conf.mmap_max = value;
	kf_large_conf.dynamic = false;
	return 1;
}

static int set_arena_max(int64_t value)
{
	if (value <= 0)
		return 0;
	kf_probe_memory_mallopt_arena_max((uint64_t)value,
					  kf_large_conf.arena_max);
	kf_large_conf.arena_max = (unsigned int)value;
	return 1;
}

static int set_arena_test(int64_t value)
{
	if (value <= 0)
		return 0;
	kf_probe_memory_mallopt_arena_test((uint64_t)value,
					   (uint64_t)arena_test);
	arena_test = (int)value;
	return 1;
}

static int set_mxfast(int64_t value)
{
	if (value < 0 || value > MXFAST_MAX)
		return 0;
	kf_probe_memory_mallopt_mxfast((uint64_t)value, (uint64_t)mxfast);
	mxfast = (int)value;
	return 1;
}

int kf_tune(int param, int64_t value)
{
	switch (param) {
	case M_TRIM_THRESHOLD:
		return set_trim((size_t)value);
	case M_TOP_PAD:
		return set_top_pad((size_t)KF_MAX(value, (int64_t)0));
	case M_MMAP_THRESHOLD:
		return set_mmap_threshold((size_t)value);
	case M_MMAP_MAX:
		return set_mmap_max((size_t)KF_MAX(value, (int64_t)0));
	case M_PERTURB:
		kf_probe_memory_mallopt_perturb((uint64_t)value,
						(uint64_t)(int64_t)perturb);
		perturb = (int)value;
		kf_perturb(perturb);
		return 1;
	case M_ARENA_TEST:
		return set_arena_test(value);
	case M_ARENA_MAX:
		return set_arena_max(value);
	case M_MXFAST:
		return set_mxfast(value);
	default:
		return 1;
	}
}
