/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The parts of the symbolizer: the file of a mapping (symbols-file.c) or what
 * is in memory of it (symbols-memory.c), the calls at an address by debug
 * information (symbols-dwarf.c), and the frames made of these (symbols.c).
 */
#ifndef KF_READER_SYMBOLS_INTERNAL_H
#define KF_READER_SYMBOLS_INTERNAL_H

#include "reader/map.h"
#include "reader/symbols.h"

#include <elfutils/libdwfl.h>

#define KF_MAX_INLINED 64

struct kf_symbol;

/* The file of a mapping. Initially zero, except @how, @code and @fd. */
struct kf_symbol_file {
	const struct kf_symbols_how *how;
	const struct kf_code *code;
	bool opened;
	bool kept;	     /* found names may be cached */
	bool loaded;	     /* @mod is filled in */
	bool sorted;	     /* @symbol is filled in */
	int fd;		     /* -1: cannot be opened */
	const char *refused; /* why the file at the path is not read, or NULL */
	enum kf_lacks lacks; /* to open it */
	Elf *elf;    /* @dwfl's, of @fd or @image; NULL: only a debug file */
	char *image; /* a copy of the process' memory, or NULL */
	size_t image_size;
	struct kf_map found; /* by address */
	Dwfl *dwfl;
	Dwfl_Module *mod; /* NULL: unreadable */
	uint64_t bias;	  /* offset from addresses in @elf to those in @mod */
	struct kf_file_key key;
	size_t nr;
	struct kf_symbol *symbol; /* by address */
};

/* A call: strings live as long as the module. */
struct kf_raw_call {
	const char *function; /* NULL: not known */
	const char *file;     /* NULL: not known */
	int line;
	bool symbol; /* @function is of a symbol table */
};

/**
 * kf_symbol_file_open() - open the file, without looking into it
 * @f:		the file
 *
 * Context: one thread at a time for each struct, between kf_guard_begin() and
 *	    kf_guard_end().
 */
void kf_symbol_file_open(struct kf_symbol_file *f);

/**
 * kf_symbol_file_load() - give an opened file to libdwfl
 * @f:		the file
 *
 * Context: as kf_symbol_file_open(); allocates.
 */
void kf_symbol_file_load(struct kf_symbol_file *f);

/**
 * kf_symbol_memory_open() - take the file from the memory of the process
 * @f:		the file, which cannot be opened; out: @elf and @image
 *
 * Context: as kf_symbol_file_open(); allocates.
 * Return: false if this is not allowed, or the memory has not the build id.
 */
bool kf_symbol_memory_open(struct kf_symbol_file *f);

/**
 * kf_symbol_memory_close() - free @image
 * @f:		the file, whose @elf is closed
 *
 * Context: as kf_symbol_file_open().
 */
void kf_symbol_memory_close(struct kf_symbol_file *f);

/**
 * kf_symbol_file_address() - convert an address to libdwfl's
 * @f:		the file, with @mod
 * @address:	an address in its mapping
 * @pc:		out: the address in @mod
 *
 * Context: as kf_symbol_file_open().
 * Return: false if the file has no code there.
 */
bool kf_symbol_file_address(const struct kf_symbol_file *f, uint64_t address,
			    uint64_t *pc);

/**
 * kf_symbol_file_function() - the function of the symbol table at an address
 * @f:		the file, with @mod
 * @pc:		the address in @mod
 *
 * Context: as kf_symbol_file_open(); allocates.
 * Return: its name, raw, which lives as long as the file; NULL: none.
 */
const char *kf_symbol_file_function(struct kf_symbol_file *f, uint64_t pc);

/**
 * kf_symbol_file_is_same() - whether a file is unchanged since it was opened
 * @f:		the file
 *
 * Context: as kf_symbol_file_open().
 * Return: true if it was not written to.
 */
bool kf_symbol_file_is_same(const struct kf_symbol_file *f);

/**
 * kf_symbol_file_close() - free what a file holds
 * @f:		the file
 *
 * Context: as kf_symbol_file_open().
 */
void kf_symbol_file_close(struct kf_symbol_file *f);

/**
 * kf_dwarf_calls() - the calls that debug information has at an address
 * @mod:	the module
 * @pc:		the address in it
 * @raw:	out: the calls, the innermost first; zero before
 *
 * Context: as kf_symbol_file_open(); reads the module's debug information.
 * Return: their number; 0 if there are none, but @raw[0] may have a source
 *	   line.
 */
size_t kf_dwarf_calls(Dwfl_Module *mod, uint64_t pc,
		      struct kf_raw_call raw[KF_MAX_INLINED]);

#endif
