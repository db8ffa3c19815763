/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Rows of unwind tables: see rows.h.
 *
 * __frame_state_for() is an old function of libgcc that tells one row of a
 * table; libgcc's header does not declare it. Rows are kept in a table without
 * locks: a place's key is the address combined with the row by exclusive or, so
 * that a row of which another thread has written a part is not found (Hyatt,
 * 1999).
 */
#include "config.h"

#include "sample/rows.h"

#include "sys/next.h"

#include <string.h>

#define NR_PLACES 4096
#define LEAST_PLACES 128
#define NR_WORDS ((sizeof(struct kf_row) + 7) / 8)

#ifdef __x86_64__
#define NR_COLUMNS 17
#define COLUMN_SP 7
static const uint8_t columns[KF_NR_KEPT] = {3, 6, 12, 13, 14, 15};
#else
#define NR_COLUMNS 97
#define COLUMN_SP 31
static const uint8_t columns[KF_NR_KEPT] = {19, 20, 21, 22, 23, 24,
					    25, 26, 27, 28, 29, 30};
#endif

/* As libgcc has it. */
struct frame_state {
	void *cfa;
	void *eh_ptr;
	long cfa_offset;
	long args_size;
	long offset[NR_COLUMNS + 1];
	unsigned short cfa_reg;
	unsigned short ra_column;
	char saved[NR_COLUMNS + 1];
};

enum { COLUMN_SAME = 0, COLUMN_AT_OFFSET = 1, COLUMN_UNDEFINED = 6 };

struct eh_bases {
	void *text;
	void *data;
	void *function;
};

struct frame_state *__frame_state_for(void *pc, struct frame_state *state);
const void *_Unwind_Find_FDE(void *pc, struct eh_bases *bases);
int _dl_find_object(void *pc, void *result) __kf_hidden;

typedef int find_fn(void *pc, void *result);

static find_fn *find; /* constant after kf_rows_start() */

static struct {
	uint64_t key; /* atomic, as are the words */
	uint64_t word[NR_WORDS];
} places[NR_PLACES];

/*
 * A program with few samples writes to few pages: the places used are the first
 * ones, twice as many each time that half as many rows were read.
 */
static uint32_t nr_places = LEAST_PLACES; /* a power of two; atomic */
static uint32_t nr_read;		  /* rows, ever; atomic */

static uint64_t generation; /* atomic */

static __thread bool loading __attribute__((tls_model("initial-exec")));

/* libgcc's call; a reference to glibc's own would need glibc 2.35. */
int _dl_find_object(void *pc, void *result)
{
	return find ? find(pc, result) : -1;
}

bool kf_rows_is_loaded(uintptr_t pc)
{
	uint64_t result[32]; /* a struct dl_find_object has 14 */

	/* Objects come into the list after they were relocated. */
	return find && !find((void *)pc, result);
}

static void rows_forget(void)
{
	kf_fetch_add(&generation, 1);
}

void kf_rows_start(void)
{
	if (KF_UNWIND_TABLES)
		find = (find_fn *)kf_next("_dl_find_object");
	rows_forget();
}

const char *kf_rows_lack(void)
{
	if (!KF_UNWIND_TABLES)
		return "built with GCC before 12 or glibc before 2.35";
	return find ? NULL : "glibc before 2.35";
}

static bool as_words(long offset, int16_t *words)
{
	*words = (int16_t)(offset / (long)sizeof(void *));
	return *words * (long)sizeof(void *) == offset;
}

static bool set_base(struct kf_row *row, unsigned int column)
{
	row->base = 0;
	if (column == COLUMN_SP)
		row->base = KF_NR_KEPT;
	while (row->base < KF_NR_KEPT && columns[row->base] != column)
		row->base++;
	return row->base < KF_NR_KEPT || column == COLUMN_SP;
}

static int16_t place_of_column(const struct frame_state *state,
			       unsigned int column)
{
	int16_t at;

	if (state->saved[column] == COLUMN_SAME)
		return KF_ROW_SAME;
	if (state->saved[column] != COLUMN_AT_OFFSET ||
	    !as_words(state->offset[column], &at) || at >= 0)
		return KF_ROW_LOST;
	return at;
}

static enum kf_row_kind rows_fill(struct kf_row *row,
				  const struct frame_state *state)
{
	unsigned int ra = state->ra_column;

	if (ra > NR_COLUMNS)
		return KF_ROW_ALIGNS;
	if (state->saved[ra] == COLUMN_SAME ||
	    state->saved[ra] == COLUMN_UNDEFINED)
		return KF_ROW_OUTMOST;
	row->ra = place_of_column(state, ra);
	row->cfa = (int32_t)state->cfa_offset;
	if (row->ra == KF_ROW_LOST || row->cfa != state->cfa_offset ||
	    !set_base(row, state->cfa_reg))
		return KF_ROW_ALIGNS;
	for (unsigned int i = 0; i < KF_NR_KEPT; i++)
		row->at[i] = place_of_column(state, columns[i]);
	return KF_ROW_TABLE;
}

/*
 * Where no table has an address, __frame_state_for() would read the code there:
 * it is asked only for addresses that a table has.
 */
static void rows_read(uintptr_t pc, struct kf_row *row)
{
	void *in = (void *)(pc - 1);
	struct frame_state state;
	struct eh_bases bases;

	memset(row, 0, sizeof(*row));
	if (!find || !_Unwind_Find_FDE(in, &bases))
		row->kind = KF_ROW_NONE;
	else if (!__frame_state_for(in, &state))
		row->kind = KF_ROW_ALIGNS;
	else
		row->kind = rows_fill(row, &state);
}

static void rows_make_room(void)
{
	uint32_t nr = kf_load(&nr_places);

	if (kf_fetch_add(&nr_read, 1) >= nr / 2 && nr < NR_PLACES)
		kf_cas(&nr_places, &nr, 2 * nr);
}

void kf_rows_find(uintptr_t pc, struct kf_row *row)
{
	uint64_t key = pc + kf_load(&generation) * 0x9e3779b97f4a7c15ULL;
	uint64_t word[NR_WORDS], check = key;
	uint64_t hash = pc * 0x9e3779b97f4a7c15ULL >> 52;
	unsigned int i = (unsigned int)hash & (kf_load(&nr_places) - 1);

	_Static_assert(NR_PLACES == 1 << 12, "the hash has 12 bits");
	for (unsigned int w = 0; w < NR_WORDS; w++) {
		word[w] = kf_load(&places[i].word[w]);
		check ^= word[w];
	}
	if (kf_load(&places[i].key) == check) {
		memcpy(row, word, sizeof(*row));
		return;
	}
	rows_make_room();
	rows_read(pc, row);
	memset(word, 0, sizeof(word));
	memcpy(word, row, sizeof(*row));
	for (unsigned int w = 0; w < NR_WORDS; w++) {
		kf_store(&places[i].word[w], word[w]);
		key ^= word[w];
	}
	kf_store(&places[i].key, key);
}

void kf_rows_loading(void)
{
	loading = true;
	rows_forget();
}

void kf_rows_begin(void)
{
	if (likely(!loading))
		return;
	loading = false;
	rows_forget();
}
