/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The symbolizer of the command line and the exporter: from addresses in a
 * process, which may have ended, to functions, source lines and inlined calls.
 *
 * Promises:
 *
 * - A name is right or absent. A module's file is read only if it has the build
 *   id that the process had. Without a known build id, a file is not read if it
 *   has another inode, size or modification time, or was written, moved or
 *   given another mode after the recording. Only functions whose size the
 *   symbol table states, and that contain the address, give names. A function
 *   has the same name with debug information and without: that of its symbol,
 *   without a version, or what a compiler adds for a part or a copy.
 *
 * - A profile has the names that were found while the process ran. If it has
 *   all functions of an address and the source line, no file is opened; else
 *   its names are used if no file gives one.
 *
 * - Files. The file that a running process has mapped comes first, through
 *   /proc/PID/map_files, so that deleted and replaced files are read; then the
 *   file at the module's path below /proc/PID/root, and of a deleted program
 *   /proc/PID/exe, if they are the mapped files; of a process that has ended,
 *   or whose root may not be entered, the file at the path. With @debug, the
 *   segments that a running process has in memory follow, then files of the
 *   same build id: those below /usr/lib/debug and those of the servers of
 *   DEBUGINFOD_URLS. Functions that a stripped file lacks come, with @debug,
 *   from its separate debug file, found by build id or debug link, and from
 *   .gnu_debugdata. Only regular files are opened (regular.h); this holds for
 *   what libdw opens on its own, too (guard.h).
 *
 * - Code in no file has the names that its runtime wrote while the process
 *   lives (jit.h).
 *
 * - Without @debug, as a daemon reads the files of other users: DWARF is not
 *   read, no other file is opened, nothing is unpacked, no server is asked. The
 *   file is read, not mapped, so that one cut short meanwhile does no harm. A
 *   file with a table above 64 MiB gives no names.
 *
 * - Time. After @budget_ns of work no further file is opened; its functions
 *   have no names in this answer, and the cache keeps none of them.
 */
#ifndef KF_READER_SYMBOLS_H
#define KF_READER_SYMBOLS_H

#include "reader/code.h"
#include "reader/jit.h"
#include "reader/name_cache.h"
#include "reader/profile.h"

/*
 * Options of the symbolizer. Zero is right for a profile of an ended program.
 */
struct kf_symbols_how {
	const char *procfs; /* procfs' mount point; needed with @pid */
	int pid;	    /* the process there, 0: it has ended */
	bool debug; /* also find source files, lines and inlined calls */
	uint64_t budget_ns;		  /* time limit, 0: none */
	uint64_t recorded_ns;		  /* since the epoch, 0: unknown */
	struct kf_name_cache *cache;	  /* NULL: none; not with @debug */
	const struct kf_profile *profile; /* has names; NULL: none */
	/* has the calls of interpreted code, unless @profile has; or NULL */
	const struct kf_snapshot *snapshot;
	/* is told each file that is not used; NULL: nobody */
	kf_jit_refused *refused;
};

/* One call at an address. Strings are raw and live as long as the symbols. */
struct kf_frame {
	uint64_t address;     /* the return address */
	const char *function; /* demangled; LIBRARY+0xN without a name */
	const char *file;     /* source file; NULL: unknown */
	unsigned int line;    /* 0: unknown */
	/* last part of @code's path, "[python]", "[jit]" or "?" */
	const char *library;
	const struct kf_code *code; /* NULL: not in a file */
	bool inlined; /* inlined into the next frame of the address */
	bool named;   /* @function is a name, not LIBRARY+0xN */
};

struct kf_symbols;

/**
 * kf_symbols_open() - begin to look up addresses
 * @codes:	the code; the symbols take its contents and leave it empty
 * @how:	the options; its strings and its cache outlive the symbols
 *
 * Context: one thread at a time for each struct.
 * Return: the symbols; NULL when out of memory.
 */
struct kf_symbols *kf_symbols_open(struct kf_codes *codes,
				   const struct kf_symbols_how *how);

/**
 * kf_symbols_frames() - the calls at a return address
 * @s:		the symbols
 * @address:	the address
 * @generation:	of the stack, see struct kf_stats_stack
 * @nr:		out: how many, at least 1
 *
 * Context: as kf_symbols_open(); reads a file at its first address.
 * Return: the calls, the innermost first; they live as long as the symbols.
 *	   NULL when out of memory.
 */
const struct kf_frame *kf_symbols_frames(struct kf_symbols *s, uint64_t address,
					 uint32_t generation, size_t *nr);

/**
 * kf_frame_label() - a call as views show it
 * @f:		the call
 * @text:	out: the function; of interpreted code with file and line, as in
 *		"handle (app.py:12)"
 * @size:	bytes of @text, not 0
 */
void kf_frame_label(const struct kf_frame *f, char *text, size_t size);

/**
 * kf_symbols_codes() - the code of the symbols
 * @s:		the symbols
 *
 * Context: as kf_symbols_open().
 * Return: the code; it lives as long as the symbols.
 */
struct kf_codes *kf_symbols_codes(struct kf_symbols *s);

/**
 * kf_symbols_lacks() - the capabilities without which names are missing
 * @s:		the symbols
 *
 * Context: as kf_symbols_open(), after the addresses were looked up.
 * Return: as kf_code_lacks(), of any file.
 */
enum kf_lacks kf_symbols_lacks(const struct kf_symbols *s);

/**
 * kf_symbols_close() - free symbols
 * @s:		the symbols, or NULL
 *
 * Context: as kf_symbols_open().
 */
void kf_symbols_close(struct kf_symbols *s);

#endif
