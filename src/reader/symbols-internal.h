/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Between the parts of the symbolizer: the file of a mapping (symbols-file.c),
 * the calls that its debug information has at an address (symbols-dwarf.c), and
 * the frames made of both (symbols.c).
 */
#ifndef KF_READER_SYMBOLS_INTERNAL_H
#define KF_READER_SYMBOLS_INTERNAL_H

#include "reader/symbols.h"

#include <elfutils/libdwfl.h>

#define KF_MAX_INLINED 64

struct kf_symbol;

/* The file of a mapping. Zero, but for @how, @code and @fd. */
struct kf_symbol_file {
	const struct kf_symbols_how *how;
	const struct kf_code *code;
	bool opened;
	bool kept;   /* names found may go into the cache */
	bool loaded; /* @mod is filled in */
	bool sorted; /* @symbol is filled in */
	int fd;	     /* -1: not to be had */
	Elf *elf;    /* of @fd, @dwfl's; NULL: only a separate debug file */
	Dwfl *dwfl;
	Dwfl_Module *mod; /* NULL: nothing can be read */
	uint64_t bias;	  /* from the addresses in @elf to those of @mod */
	struct kf_file_key key;
	size_t nr;
	struct kf_symbol *symbol; /* by address */
};

/* A call as libdw has it: strings live as long as the module. */
struct kf_raw_call {
	const char *function; /* NULL: not known */
	const char *file;     /* NULL: not known */
	int line;
};

/**
 * kf_symbol_file_open() - open the file, without looking into it
 * @f:		the file
 *
 * Context: one thread for each struct, guarded.
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
 * kf_symbol_file_address() - the address by which libdwfl knows one
 * @f:		the file, with @mod
 * @address:	an address in its mapping
 * @pc:		out: the address in @mod
 *
 * Context: as kf_symbol_file_open().
 * Return: false where the file has no code for it.
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
 * kf_symbol_file_is_same() - whether a file is what it was when opened
 * @f:		the file
 *
 * Context: as kf_symbol_file_open().
 * Return: true where nobody wrote to it since.
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
 * Return: how many; 0 where there is none, though @raw[0] may have a place.
 */
size_t kf_dwarf_calls(Dwfl_Module *mod, uint64_t pc,
		      struct kf_raw_call raw[KF_MAX_INLINED]);

#endif
