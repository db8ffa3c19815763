/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Trees of tags: see tree.h.
 *
 * A tree takes entries in chunks and keeps them, so that its thread makes nodes
 * without synchronization. A node is complete before it is linked: after a fork
 * at any instruction the tree is valid, and at worst one entry is lost.
 */
#include "tags/tree.h"

#include "base/match.h"
#include "sys/process.h"
#include "sys/vm.h"

#include <time.h>

#define NR_ENTRIES 65536
#define CHUNK 16
#define NR_TREES (NR_ENTRIES / CHUNK)

_Static_assert(NR_ENTRIES == 1 << KF_TAG_TREE_SHIFT &&
		       NR_TREES << KF_TAG_TREE_SHIFT < 1u << 31,
	       "a mark holds tree and entry");

/* The number of trees from which on idle trees are folded. */
#define FEW_TREES 64

static const char ended[] = "(ended)";

enum { TREE_NONE, TREE_IN_USE, TREE_IDLE };

/* The thread that swaps @state to TREE_IN_USE may write the other fields. */
struct tree {
	uint32_t state; /* atomic */
	uint32_t root;
	uint32_t nr_nodes;
	struct kf_tag_node *free; /* nodes to use again, linked by @recent */
	uint32_t at;		  /* next entry of the chunk */
	uint32_t left;		  /* entries left in the chunk */
	int32_t tid;		  /* of its thread, or its last one; atomic */
	char name[KF_COMM_SIZE];
	/* in a cache line that no other thread reads */
	struct kf_tag_self self __kf_aligned(KF_CACHE_LINE);
};

struct kf_tags kf_tags = {.limits = {.levels = 256, .nodes = 4096}};

static struct tree *trees; /* NR_TREES; 0 is no tree; constant once set */

static struct kf_tag_node *node_at(uint32_t i)
{
	return &kf_tags.node[i];
}

/* Map a table and store its address at @at, unless there is one already. */
static bool map_once(void *at, size_t size)
{
	void **where = at;
	void *memory;

	if (kf_load_acquire(where))
		return true;
	memory = kf_vm_map(size, KF_PAGE);
	if (!memory)
		return false;
	if (!kf_claim(where, memory))
		kf_vm_drop(memory, size);
	return true;
}

/* The tables are mapped for all entries at once: untouched pages cost nothing.
 */
static bool tree_is_ready(void)
{
	void *table = kf_stats_area_grow(KF_AREA_TAGS, CHUNK);

	if (!table ||
	    !map_once(&kf_tags.node,
		      KF_ALIGN_UP(NR_ENTRIES * sizeof(struct kf_tag_node),
				  KF_PAGE)) ||
	    !map_once(&trees,
		      KF_ALIGN_UP(NR_TREES * sizeof(struct tree), KF_PAGE)))
		return false;
	if (kf_load_acquire(&kf_tags.tag) != table)
		kf_store_release(&kf_tags.tag, table);
	if (!kf_load(&kf_tags.began_ns))
		kf_store(&kf_tags.began_ns,
			 kf_process_clock_ns(CLOCK_REALTIME));
	return true;
}

static bool tree_take_chunk(struct tree *tree)
{
	uint32_t at = kf_load(&kf_tags.nr);

	do {
		if (at + CHUNK > NR_ENTRIES)
			return false;
	} while (!kf_cas(&kf_tags.nr, &at, at + CHUNK));
	if (!kf_stats_area_grow(KF_AREA_TAGS, at + CHUNK))
		return false;
	/* Entry 0 means "no node". */
	tree->at = at ? at : 1;
	tree->left = at ? CHUNK : CHUNK - 1;
	return true;
}

static uint32_t tree_take_entry(struct tree *tree)
{
	struct kf_tag_node *node = tree->free;

	if (node) {
		tree->free = node->recent;
		return node->entry;
	}
	if (!tree->left && !tree_take_chunk(tree))
		return 0;
	tree->left--;
	return tree->at++;
}

static bool has_stacks(const struct kf_tag_name *name)
{
	return kf_tags.stacks &&
	       kf_match(kf_tags.stacks, name->text, name->len);
}

static uint32_t tree_make(uint32_t tree, uint32_t parent,
			  const struct kf_tag_name *name, int32_t tid)
{
	struct tree *t = &trees[tree];
	uint32_t i = tree_take_entry(t);
	struct kf_tag_node *node = node_at(i);
	struct kf_stats_tag *tag = kf_tags_at(i);
	size_t len = KF_MIN(name->len, sizeof(node->name) - 1);

	if (!i)
		return 0;
	*node = (struct kf_tag_node){
		.parent = parent,
		.entry = i,
		.generation = node->generation + 1,
		.tree = (uint16_t)tree,
		.depth = parent ? (uint16_t)(node_at(parent)->depth + 1) : 0,
		.tag = tag,
		.hash = name->hash,
		.last = (uint8_t)KF_ALIGN_DOWN(len, sizeof(uint64_t)),
		.spare = (uint8_t)(8 * (7 - len % sizeof(uint64_t))),
		.cut = len < name->len,
		.stacks = parent && has_stacks(name),
	};
	memcpy(node->name, name->text, len);
	/* A pop leaves neither the root nor the first tag of every thread. */
	if (parent && !(kf_tags.base && node->depth == 1))
		node->up = node_at(parent);
	node->quick = node->stacks ? 0 : kf_tag_mark(node);
	*tag = (struct kf_stats_tag){
		.parent = parent,
		.root = parent ? t->root : i,
		.tid = tid,
		.depth = node->depth,
		.flags = node->stacks ? KF_TAG_STACKS : 0,
	};
	memcpy(tag->name, node->name, sizeof(tag->name));
	kf_store_release(&tag->state, tid ? KF_TAG_IN_USE : KF_TAG_FOLDED);
	t->nr_nodes++;
	if (parent) {
		node->next = node_at(parent)->child;
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
		node_at(parent)->child = i;
	}
	return i;
}

static bool is_named(const struct kf_tag_node *node,
		     const struct kf_tag_name *name)
{
	return node->hash == name->hash &&
	       node->cut == (name->len >= sizeof(node->name)) &&
	       !strncmp(node->name, name->text, sizeof(node->name) - 1);
}

uint32_t kf_tree_child(uint32_t parent, const struct kf_tag_name *name)
{
	struct kf_tag_node *above = node_at(parent);
	uint32_t i = above->child;

	while (i && !is_named(node_at(i), name))
		i = node_at(i)->next;
	if (!i && above->depth + 1U < kf_tags.limits.levels &&
	    trees[above->tree].nr_nodes < kf_tags.limits.nodes)
		i = tree_make(above->tree, parent, name,
			      kf_tags_at(parent)->tid);
	if (i)
		above->recent = node_at(i)->quick && !node_at(i)->cut
					? node_at(i)
					: NULL;
	return i;
}

/* The next node of a walk through a tree, parents first; 0: the end. */
static uint32_t next_node(uint32_t i)
{
	if (node_at(i)->child)
		return node_at(i)->child;
	while (i && !node_at(i)->next)
		i = node_at(i)->parent;
	return i ? node_at(i)->next : 0;
}

static void label(uint32_t tree, int32_t tid)
{
	kf_store(&trees[tree].tid, tid);
	for (uint32_t i = trees[tree].root; i; i = next_node(i)) {
		struct kf_stats_tag *tag = kf_tags_at(i);

		tag->tid = tid;
		kf_store_release(&tag->state,
				 tid ? KF_TAG_IN_USE : KF_TAG_FOLDED);
	}
}

static bool swap_state(uint32_t tree, uint32_t from, uint32_t to)
{
	return kf_cas(&trees[tree].state, &from, to);
}

static bool has_live(uint32_t tree)
{
	for (uint32_t i = trees[tree].root; i; i = next_node(i)) {
		if (kf_stats_tag_blocks(kf_tags_at(i)))
			return true;
	}
	return false;
}

static void add_counts(struct kf_stats_tag *to, struct kf_stats_tag *from)
{
	to->failed += from->failed;
	to->entered += from->entered;
	to->left += from->left;
	to->mallocs += from->mallocs;
	to->callocs += from->callocs;
	to->reallocs += from->reallocs;
	to->aligned += from->aligned;
	to->frees += from->frees + from->remote_frees;
	to->allocated += from->allocated;
	to->freed += from->freed + from->remote_freed;
	to->resized += from->resized;
	to->inherited += from->inherited;
	to->peak = KF_MAX(to->peak, from->peak);
}

/*
 * Add a tree's counts to the nodes of the same paths in the common tree, and
 * free the tree's entries. Where the common tree has no room for a node, the
 * counts are added to the node above.
 */
static void tree_fold(uint32_t tree, uint32_t into)
{
	uint32_t i, next;

	for (i = trees[tree].root; i; i = next_node(i)) {
		struct kf_tag_node *node = node_at(i);
		struct kf_tag_name name = {node->name, strlen(node->name),
					   node->hash};
		uint32_t to = trees[into].root;

		if (node->cut)
			name.len = sizeof(node->name);
		if (node->parent) {
			/* @recent of a folded node is its node in @into. */
			uint32_t above = node_at(node->parent)->recent->entry;

			to = kf_tree_child(above, &name);
			to = to ? to : above;
		}
		add_counts(kf_tags_at(to), kf_tags_at(i));
		node->recent = node_at(to);
	}
	for (i = trees[tree].root; i; i = next) {
		next = next_node(i);
		kf_store_release(&kf_tags_at(i)->state, KF_TAG_FREE);
		node_at(i)->generation++;
		node_at(i)->tree = 0;
	}
}

/* Free all entries of a folded tree; a fork meanwhile loses them. */
static void free_entries(uint32_t tree)
{
	struct tree *t = &trees[tree];
	uint32_t i = t->root, next;

	t->root = 0;
	t->nr_nodes = 0;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	for (; i; i = next) {
		next = next_node(i);
		node_at(i)->recent = t->free;
		t->free = node_at(i);
	}
}

static void set_name(uint32_t tree, const char *name)
{
	memcpy(trees[tree].name, name, strlen(name) + 1);
}

static uint32_t claim_new(uint32_t limit, const char *name)
{
	uint32_t nr = kf_load(&kf_tags.nr_trees);

	do {
		if (nr + 1 >= limit)
			return 0;
	} while (!kf_cas(&kf_tags.nr_trees, &nr, nr + 1));
	set_name(nr + 1, name);
	/* pairs with the acquire of swap_state() */
	kf_store_release(&trees[nr + 1].state, TREE_IN_USE);
	return nr + 1;
}

static void tree_release(uint32_t tree)
{
	/* pairs with the acquire of swap_state() */
	kf_store_release(&trees[tree].state, TREE_IDLE);
}

/*
 * Claim the idle tree of a thread of the same name; or find the tree that this
 * thread has already, if ld.so has reset its variables since (abi/early.c).
 */
static uint32_t claim_named(const char *name, int32_t tid)
{
	uint32_t nr = kf_load(&kf_tags.nr_trees);

	for (uint32_t i = 1; i <= nr; i++) {
		uint32_t state = kf_load_acquire(&trees[i].state);

		if (state == TREE_IN_USE && tid &&
		    kf_load(&trees[i].tid) == tid)
			return i;
		if (state != TREE_IDLE || strcmp(trees[i].name, name) ||
		    !swap_state(i, TREE_IDLE, TREE_IN_USE))
			continue;
		/* Another thread may have renamed it before the swap. */
		if (!strcmp(trees[i].name, name))
			return i;
		tree_release(i);
	}
	return 0;
}

/* Label the nodes of a claimed tree, or make its root. */
static bool prepare_root(uint32_t tree, int32_t tid)
{
	struct kf_tag_name name = {.text = trees[tree].name,
				   .len = strlen(trees[tree].name)};
	uint64_t resident;
	uint32_t root;

	if (trees[tree].root) {
		label(tree, tid);
		return true;
	}
	root = tree_make(tree, 0, &name, tid);
	if (!root)
		return false;
	trees[tree].root = root;
	kf_store(&trees[tree].tid, tid);
	if (!kf_process_is_barred())
		kf_process_memory(&kf_tags_at(root)->vm_size, &resident);
	return true;
}

static uint32_t claim_common(void)
{
	uint32_t tree = claim_named(ended, 0);

	if (!tree)
		tree = claim_new(NR_TREES, ended);
	if (tree && !prepare_root(tree, 0)) {
		tree_release(tree);
		return 0;
	}
	return tree;
}

static bool fold_tree(uint32_t tree)
{
	uint32_t into = claim_common();

	if (!into)
		return false;
	tree_fold(tree, into);
	free_entries(tree);
	tree_release(into);
	return true;
}

static uint32_t claim_folded(const char *name)
{
	uint32_t nr = kf_load(&kf_tags.nr_trees);

	for (uint32_t i = 1; i <= nr; i++) {
		if (!swap_state(i, TREE_IDLE, TREE_IN_USE))
			continue;
		if (strcmp(trees[i].name, ended) && !has_live(i) &&
		    fold_tree(i)) {
			set_name(i, name);
			return i;
		}
		tree_release(i);
	}
	return 0;
}

uint32_t kf_tree_claim(void)
{
	int32_t tid = kf_process_tid();
	char name[KF_COMM_SIZE];
	uint32_t tree;

	if (!tree_is_ready())
		return 0;
	kf_process_comm(name);
	tree = claim_named(name, tid);
	if (!tree)
		tree = claim_new(FEW_TREES, name);
	if (!tree)
		tree = claim_folded(name);
	if (!tree)
		tree = claim_new(NR_TREES, name);
	if (tree && !prepare_root(tree, tid)) {
		tree_release(tree);
		return 0;
	}
	return tree;
}

uint32_t kf_tree_root(uint32_t tree)
{
	return trees[tree].root;
}

struct kf_tag_self *kf_tree_self(uint32_t tree)
{
	return &trees[tree].self;
}

void kf_tree_leave(uint32_t tree)
{
	label(tree, 0);
	tree_release(tree);
}

void kf_tree_fork_child(uint32_t own, int32_t tid)
{
	for (uint32_t i = 1; i <= kf_tags.nr_trees; i++) {
		if (i == own)
			label(i, tid);
		else if (trees[i].state == TREE_IN_USE)
			kf_tree_leave(i);
	}
}
