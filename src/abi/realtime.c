/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The real-time mode of include/konfiscator.h.
 */
#include "konfiscator.h"

#include "abi/abi.h"
#include "core/realtime.h"

__kf_public void konf_lib_realtime(int on)
{
	kf_realtime_enter(on);
}
