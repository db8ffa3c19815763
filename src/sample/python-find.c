/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Finds CPython in a mapped object: see python.h.
 *
 * Its symbols are those that the object offers to others: memory has its hash
 * table of names, and nothing has to be asked of the dynamic loader.
 */
#include "sample/python.h"

#include "sample/rows.h"
#include "sample/walk.h"
#include "sys/vm.h"

#include <string.h>

#define MAX_DYNAMIC 128
#define MAX_CHAIN 256
#define MAX_NAME 40

/* The interpreter describes itself here (_Py_DebugOffsets). */
#define BLOCK_BYTES 768

struct kf_python kf_python;
uint64_t kf_python_state;
uint64_t kf_python_unloads;

/* An object; guarded by the right to read the mappings. */
static struct {
	struct kf_elf elf;
	uint64_t hash;
	uint64_t symbols;
	uint64_t strings;
	Elf64_Dyn dynamic[MAX_DYNAMIC];
} object;

static bool object_read_tables(const Elf64_Phdr *p)
{
	size_t nr = KF_MIN((size_t)(p->p_memsz / sizeof(Elf64_Dyn)),
			   (size_t)MAX_DYNAMIC);

	object.hash = object.symbols = object.strings = 0;
	if (!nr || !kf_vm_copy(object.dynamic, object.elf.bias + p->p_vaddr,
			       nr * sizeof(Elf64_Dyn)))
		return false;
	for (size_t i = 0; i < nr && object.dynamic[i].d_tag; i++) {
		uint64_t at = object.dynamic[i].d_un.d_ptr;

		switch (object.dynamic[i].d_tag) {
		case DT_GNU_HASH:
			object.hash = at;
			break;
		case DT_SYMTAB:
			object.symbols = at;
			break;
		case DT_STRTAB:
			object.strings = at;
			break;
		}
	}
	return object.hash && object.symbols && object.strings;
}

static bool object_read(uint64_t base)
{
	const Elf64_Phdr *p = object.elf.segment;

	if (!kf_elf_read(base, &object.elf))
		return false;
	while (p->p_type != PT_DYNAMIC) {
		if (++p == object.elf.segment + object.elf.nr)
			return false;
	}
	return object_read_tables(p);
}

static uint32_t hash_of(const char *name)
{
	uint32_t hash = 5381;

	while (*name)
		hash = hash * 33 + (unsigned char)*name++;
	return hash;
}

static bool object_is_name(uint32_t at, const char *name)
{
	char text[MAX_NAME];
	size_t size = strlen(name) + 1;

	return size <= sizeof(text) &&
	       kf_vm_copy(text, object.strings + at, size) &&
	       !memcmp(text, name, size);
}

/* The symbol that the object defines; false: none. */
static bool object_find(const char *name, Elf64_Sym *symbol)
{
	uint32_t head[4], hash = hash_of(name), i, other;
	uint64_t chains;

	if (!kf_vm_copy(head, object.hash, sizeof(head)) || !head[0])
		return false;
	chains = object.hash + sizeof(head) + 8 * (uint64_t)head[2];
	if (!kf_vm_copy(&i, chains + 4 * (uint64_t)(hash % head[0]), sizeof(i)))
		return false;
	chains += 4 * (uint64_t)head[0];
	for (int steps = 0; i >= head[1] && steps < MAX_CHAIN; i++, steps++) {
		if (!kf_vm_copy(&other, chains + 4 * (uint64_t)(i - head[1]),
				sizeof(other)))
			return false;
		if ((other | 1) == (hash | 1) &&
		    kf_vm_copy(symbol, object.symbols + sizeof(*symbol) * i,
			       sizeof(*symbol)) &&
		    symbol->st_shndx != SHN_UNDEF &&
		    object_is_name(symbol->st_name, name))
			return true;
		if (other & 1)
			break;
	}
	return false;
}

static uintptr_t object_address(const char *name)
{
	Elf64_Sym symbol;

	return object_find(name, &symbol)
		       ? (uintptr_t)(object.elf.bias + symbol.st_value)
		       : 0;
}

/* Functions that a version brought tell those before Py_Version apart. */
static uint16_t python_version(void)
{
	uint64_t at = object_address("Py_Version");
	uint64_t version = 0;

	if (at && kf_vm_copy(&version, at, sizeof(version)))
		return (uint16_t)(version >> 16);
	if (object_address("Py_NewRef"))
		return 0x030a;
	return object_address("PyConfig_InitPythonConfig") ? 0x0308 : 0;
}

static bool python_read_layout(struct kf_python *p)
{
	static char block[BLOCK_BYTES];
	uint64_t at = object_address("_PyRuntime");
	bool threads;

	p->has_lines = true;
	if (p->version >= 0x030d && at &&
	    kf_vm_copy(block, at, sizeof(block)) &&
	    kf_python_layout_read(block, sizeof(block), p->version, &p->at,
				  &threads)) {
		/* each thread may have instructions of its own */
		p->has_lines = !threads || p->version < 0x030e;
		return true;
	}
	return kf_python_layout_of(p->version, &p->at);
}

static bool python_find(struct kf_python *p)
{
	Elf64_Sym symbol;
	uintptr_t state = object_address("PyGILState_GetThisThreadState");

	if (!state)
		return false;
	p->version = python_version();
	p->code_type = object_address("PyCode_Type");
	p->unicode_type = object_address("PyUnicode_Type");
	if (!p->code_type || !p->unicode_type || !python_read_layout(p))
		return false;
	memcpy(&p->state, &state, sizeof(state));
	if (object_find("_PyEval_EvalFrameDefault", &symbol)) {
		p->evaluator = (uintptr_t)(object.elf.bias + symbol.st_value);
		p->evaluator_end = p->evaluator + symbol.st_size;
	}
	return true;
}

bool kf_python_look(uint64_t base, bool stays, bool quiet, uint64_t unloads)
{
	struct kf_python found = {0};
	uintptr_t code;

	/* Without rows nothing tells when an object was loaded. */
	if (kf_python_is_on() || (!stays && kf_rows_lack()) ||
	    !object_read(base) || !python_find(&found))
		return false;
	memcpy(&code, &found.state, sizeof(code));
	/* Another thread may still use what was found before. */
	if ((!stays && (!quiet || !kf_rows_is_loaded(code))) ||
	    (kf_python.version && !kf_walk_wait_python())) {
		kf_store(&kf_python_state, (uint64_t)KF_PYTHON_AGAIN);
		return true;
	}
	kf_python = found;
	/* pairs with kf_python_is_on() */
	__atomic_store_n(&kf_python_state,
			 stays ? KF_PYTHON_STAYS : unloads + 2,
			 __ATOMIC_SEQ_CST);
	return false;
}

void kf_python_unload(void)
{
	/* A thread in a merge has said so, and then asked for this number. */
	__atomic_fetch_add(&kf_python_unloads, 1, __ATOMIC_SEQ_CST);
	if (kf_load(&kf_python_state) != KF_PYTHON_NONE)
		kf_walk_wait_python();
}
