/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The choice of the engine, by the option `engine`.
 *
 * Engines inside the library are installed before the first allocation. Engines
 * with KONF_ENGINE_LATE and engines from outside are installed by the library's
 * constructor; the default engine serves until then. If an engine cannot be
 * used, there is one line on stderr and the default engine serves on.
 */
#ifndef KF_CORE_CHOOSE_H
#define KF_CORE_CHOOSE_H

/**
 * kf_engine_choose() - install the engine, if that is possible at start
 *
 * Context: once, at start, after the default backend's init.
 */
void kf_engine_choose(void);

/**
 * kf_engine_choose_late() - install an engine that needs a full C library
 *
 * May allocate.
 *
 * Context: our constructor.
 */
void kf_engine_choose_late(void);

#endif
