/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The table of classes up to KF_TINY_MAX: see class.h.
 */
#include "heap/class.h"

#define FOUR(n) n, n, n, n
#define X16(n) FOUR(n), FOUR(n), FOUR(n), FOUR(n)
#define X32(n) X16(n), X16(n)
#define X64(n) X32(n), X32(n)

const uint16_t kf_class_tiny[KF_TINY_MAX + 1] = {
	0,	  X16(16),  X16(32),  X16(48),	X16(64),   X16(80),  X16(96),
	X16(112), X16(128), X16(144), X16(160), X16(176),  X16(192), X16(208),
	X16(224), X16(240), X16(256), X32(288), X32(320),  X32(352), X32(384),
	X32(416), X32(448), X32(480), X32(512), X64(576),  X64(640), X64(704),
	X64(768), X64(832), X64(896), X64(960), X64(1024),
};
