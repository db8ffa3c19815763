/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The files and ports that an exporter needs, by its flags.
 */
#ifndef KF_EXPORTER_SANDBOX_PLACES_H
#define KF_EXPORTER_SANDBOX_PLACES_H

#include "exporter/config/options.h"

/**
 * kf_places_allow() - allow all that the flags need
 * @rules:	of kf_landlock_begin()
 * @abi:	of kf_landlock_abi()
 * @o:		the flags
 * @state_file:	the state file, or NULL
 *
 * What does not exist is left out; of a directory that will be made, the
 * nearest one above it is allowed. Files that may be replaced are allowed with
 * the directories that they are in.
 */
void kf_places_allow(int rules, int abi, const struct kf_options *o,
		     const char *state_file);

#endif
