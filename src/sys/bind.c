/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Slots and symbol tables of other objects: see bind.h.
 *
 * Most slots are writable. Those that the dynamic linker made read-only after
 * relocation (RELRO) are made writable for the store. While another thread
 * loads an object, that object's are still writable, and must not become
 * read-only before the linker has filled all: so pages are made read-only again
 * only if they were, and the second look takes what the first had to leave.
 */
#include "sys/bind.h"

#include "base/bits.h"
#include "sys/call.h"
#include "sys/maps.h"
#include "sys/next.h"
#include "sys/process.h"
#include "sys/vm.h"

#include <string.h>
#include <sys/mman.h>

#ifdef __x86_64__
#define TYPE_JUMP R_X86_64_JUMP_SLOT
#define TYPE_GOT R_X86_64_GLOB_DAT
#define TYPE_WORD R_X86_64_64
#else
#define TYPE_JUMP R_AARCH64_JUMP_SLOT
#define TYPE_GOT R_AARCH64_GLOB_DAT
#define TYPE_WORD R_AARCH64_ABS64
#endif

/* Between the two looks: a thread in lazy binding has stored its slot. */
#define PAUSES 4

/* References to these were NULL without the library. */
#define PUBLIC_PREFIX "konf_lib_"

struct look {
	const struct kf_bind *bind;
	size_t nr;
	bool on;
	bool last;	 /* this is the second look */
	bool is_host;	 /* the present object has the malloc */
	size_t changed;	 /* slots */
	uintptr_t relro; /* of the present object: page-aligned */
	uintptr_t relro_end;
	bool known;	   /* whether @is_read_only was looked up */
	bool is_read_only; /* the RELRO part */
};

static uintptr_t from_of(const struct kf_bind *b, bool on)
{
	return on ? b->theirs : b->ours;
}

static uintptr_t to_of(const struct kf_bind *b, bool on)
{
	return on ? b->ours : b->theirs;
}

static bool bind_protect(uintptr_t from, uintptr_t to, int prot)
{
	size_t page = kf_vm_page();

	from = KF_ALIGN_DOWN(from, page);
	to = KF_ALIGN_UP(to, page);
	return kf_sys(SYS_mprotect, from, to - from, (long)prot) == 0;
}

/* False where it cannot be told too. */
static bool is_writable(uintptr_t at)
{
	struct kf_maps maps;
	struct kf_mapping m;
	bool found = false;

	if (kf_maps_open(&maps))
		return false;
	while (!found && kf_maps_next(&maps, &m))
		found = at >= m.begin && at < m.end;
	kf_maps_close(&maps);
	return found && m.writable;
}

static void bind_store(uintptr_t *slot, uintptr_t to, struct look *l)
{
	/* pairs with nothing: either function serves the caller */
	__atomic_store_n(slot, to, __ATOMIC_RELEASE);
	l->changed++;
}

static void change(uintptr_t *slot, uintptr_t to, struct look *l)
{
	uintptr_t at = (uintptr_t)slot;

	if (at < l->relro || at >= l->relro_end) {
		bind_store(slot, to, l);
		return;
	}
	if (!l->known)
		l->is_read_only = !is_writable(at);
	l->known = true;
	if (!l->is_read_only && !l->last)
		return;
	if (!bind_protect(at, at + sizeof(*slot), PROT_READ | PROT_WRITE))
		return;
	bind_store(slot, to, l);
	if (l->is_read_only)
		bind_protect(at, at + sizeof(*slot), PROT_READ);
}

/* The part that the dynamic linker protects: whole pages. */
static void see_relro(const struct kf_object *o, struct look *l)
{
	size_t page = kf_vm_page();

	l->relro = l->relro_end = 0;
	l->known = false;
	for (size_t i = 0; i < o->nr_segments; i++) {
		const Elf64_Phdr *ph = &o->segment[i];
		uintptr_t at = o->base + ph->p_vaddr;

		if (ph->p_type != PT_GNU_RELRO)
			continue;
		l->relro = KF_ALIGN_DOWN(at, page);
		l->relro_end = KF_ALIGN_DOWN(at + ph->p_memsz, page);
	}
}

/* The protection of the segment with an address; -1: there is none. */
static int protection_of(const struct kf_object *o, uintptr_t at)
{
	for (size_t i = 0; i < o->nr_segments; i++) {
		const Elf64_Phdr *ph = &o->segment[i];
		uintptr_t begin = o->base + ph->p_vaddr;

		if (ph->p_type == PT_LOAD && at >= begin &&
		    at < begin + ph->p_memsz)
			return (ph->p_flags & PF_R ? PROT_READ : 0) |
			       (ph->p_flags & PF_W ? PROT_WRITE : 0) |
			       (ph->p_flags & PF_X ? PROT_EXEC : 0);
	}
	return -1;
}

static bool is_of_slot(const Elf64_Rela *r)
{
	uint32_t type = (uint32_t)ELF64_R_TYPE(r->r_info);

	return ELF64_R_SYM(r->r_info) &&
	       (type == TYPE_JUMP || type == TYPE_GOT || type == TYPE_WORD);
}

static const char *slot_name(const struct kf_object *o, const Elf64_Rela *r)
{
	const Elf64_Sym *symbol = kf_next_dynamic(o, DT_SYMTAB);
	const char *names = kf_next_dynamic(o, DT_STRTAB);

	return names + symbol[ELF64_R_SYM(r->r_info)].st_name;
}

/* A weak reference to a function of ours that found none. */
static void resolve_weak(const struct kf_object *o, const Elf64_Rela *r,
			 uintptr_t *slot, struct look *l)
{
	const char *name = slot_name(o, r);
	void *fn = NULL;

	if (!strncmp(name, PUBLIC_PREFIX, strlen(PUBLIC_PREFIX)))
		fn = kf_next_own(name);
	if (fn)
		change(slot, (uintptr_t)fn, l);
}

/*
 * A malloc may call its own functions by their names: realloc may call free. In
 * such a call the block is not the program's. A slot of lazy binding that was
 * not used yet would find this library's function; it leads into the object.
 */
static void keep_own(const struct kf_object *o, const Elf64_Rela *r,
		     uintptr_t *slot, uintptr_t has, struct look *l)
{
	const char *name = slot_name(o, r);

	for (size_t i = 0; i < l->nr; i++) {
		uintptr_t theirs = l->bind[i].theirs;

		if (has != theirs && !strcmp(l->bind[i].name, name) &&
		    protection_of(o, has) >= 0 && protection_of(o, theirs) >= 0)
			change(slot, theirs, l);
	}
}

/* Whether it has the malloc; the C library also calls it for others. */
static bool is_host(const struct kf_object *o, const struct look *l)
{
	return l->bind->theirs && protection_of(o, l->bind->theirs) >= 0 &&
	       !kf_next_entry(o, "gnu_get_libc_version");
}

static void see_slot(const struct kf_object *o, const Elf64_Rela *r,
		     struct look *l)
{
	uintptr_t *slot = (uintptr_t *)(o->base + r->r_offset);
	uintptr_t has = __atomic_load_n(slot, __ATOMIC_RELAXED);

	if (!has && l->on)
		resolve_weak(o, r, slot, l);
	if (has && l->is_host) {
		keep_own(o, r, slot, has, l);
		return;
	}
	for (size_t i = 0; has && i < l->nr; i++) {
		if (has == from_of(&l->bind[i], l->on)) {
			change(slot, to_of(&l->bind[i], l->on), l);
			return;
		}
	}
}

static size_t size_at(const struct kf_object *o, Elf64_Sxword tag)
{
	for (const Elf64_Dyn *d = o->dynamic; d->d_tag != DT_NULL; d++) {
		if (d->d_tag == tag)
			return d->d_un.d_val;
	}
	return 0;
}

static void see_table(const struct kf_object *o, Elf64_Sxword table,
		      Elf64_Sxword size, struct look *l)
{
	const Elf64_Rela *r = kf_next_dynamic(o, table);
	const Elf64_Rela *end = r + size_at(o, size) / sizeof(*r);

	for (; r && r < end; r++) {
		if (is_of_slot(r))
			see_slot(o, r, l);
	}
}

static bool see_slots(const struct kf_object *o, void *arg)
{
	struct look *l = arg;

	l->is_host = is_host(o, l);
	see_relro(o, l);
	see_table(o, DT_JMPREL, DT_PLTRELSZ, l);
	see_table(o, DT_RELA, DT_RELASZ, l);
	return false;
}

static void change_symbol(const struct kf_object *o, const struct kf_bind *b,
			  bool on)
{
	const Elf64_Sym *symbol = kf_next_entry(o, b->name);
	uintptr_t *value, at;
	int prot;

	if (!symbol || o->base + symbol->st_value != from_of(b, on))
		return;
	value = (uintptr_t *)&symbol->st_value;
	at = (uintptr_t)value;
	prot = protection_of(o, at);
	if (prot < 0 ||
	    !bind_protect(at, at + sizeof(*value), prot | PROT_WRITE))
		return;
	__atomic_store_n(value, to_of(b, on) - o->base, __ATOMIC_RELEASE);
	bind_protect(at, at + sizeof(*value), prot);
}

static bool see_symbols(const struct kf_object *o, void *arg)
{
	const struct look *l = arg;

	for (size_t i = 0; i < l->nr; i++) {
		if (l->bind[i].theirs)
			change_symbol(o, &l->bind[i], l->on);
	}
	return false;
}

void kf_bind_find(struct kf_bind *bind, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		bind[i].theirs = (uintptr_t)kf_next(bind[i].name);
}

size_t kf_bind(const struct kf_bind *bind, size_t nr, bool on)
{
	struct look l = {.bind = bind, .nr = nr, .on = on};

	kf_next_each(see_symbols, &l);
	kf_next_each(see_slots, &l);
	for (int i = 0; i < PAUSES; i++)
		kf_process_pause();
	l.last = true;
	kf_next_each(see_slots, &l);
	return l.changed;
}
