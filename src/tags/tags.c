/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A thread's position in its tree: see tags.h.
 */
#include "tags/tree.h"

#include "sys/process.h"

struct kf_tag_node kf_tag_blank;

struct kf_tag_self kf_tag_nobody = {.at = &kf_tag_blank,
				    .tree = KF_TAG_NO_TREE};
struct kf_tag_self kf_tag_ended = {.at = &kf_tag_blank, .tree = KF_TAG_NO_TREE};

__thread struct kf_tag_self *kf_tag_self
	__attribute__((tls_model("initial-exec"))) = &kf_tag_nobody;

uint32_t kf_tags_find(uint32_t parent, const char *name)
{
	struct kf_tag_name n = {.text = name, .hash = 0xcbf29ce484222325};

	/* FNV-1a */
	for (; name[n.len]; n.len++)
		n.hash = (n.hash ^ (unsigned char)name[n.len]) * 0x100000001b3;
	return kf_tree_child(parent, &n);
}

static void set_current(struct kf_tag_self *self, struct kf_tag_node *node)
{
	self->kept = node;
	self->at = self->lost || self->paused ? &kf_tag_blank : node;
}

void kf_tags_push(const char *name)
{
	struct kf_tag_self *self = kf_tag_self;
	struct kf_tag_node *current = kf_tag_current(self);
	uint32_t node = self->lost ? 0 : kf_tags_find(current->entry, name);

	if (node) {
		current = &kf_tags.node[node];
		current->tag->entered++;
	} else {
		self->lost++;
		current->tag->failed++;
	}
	set_current(self, current);
}

void kf_tags_pop(void)
{
	struct kf_tag_self *self = kf_tag_self;
	struct kf_tag_node *current = kf_tag_current(self);

	if (self->lost) {
		self->lost--;
	} else if (current->up) {
		current->tag->left++;
		current = current->up;
	}
	set_current(self, current);
}

void kf_tags_pause(bool on)
{
	struct kf_tag_self *self = kf_tag_self;
	struct kf_tag_node *current = kf_tag_current(self);

	if (on)
		self->paused++;
	else if (self->paused)
		self->paused--;
	set_current(self, current);
}

const struct kf_tag_node *kf_tags_above(uint32_t node, uint32_t depth)
{
	const struct kf_tag_node *n = &kf_tags.node[node];

	while (n->depth > depth)
		n = &kf_tags.node[n->parent];
	return n;
}

void kf_tags_reset_peaks(void)
{
	uint32_t nr = kf_load_acquire(&kf_tags.nr);

	for (uint32_t i = 1; i < nr; i++) {
		struct kf_stats_tag *t = kf_tags_at(i);

		kf_store(&t->peak, kf_stats_tag_live(t));
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
		kf_store(&kf_tags.node[i].bar, 0);
	}
}

void kf_tags_rise(struct kf_tag_node *node)
{
	struct kf_stats_tag *t = node->tag;
	uint64_t remote = kf_load(&t->remote_freed);
	uint64_t live = t->allocated - t->freed - remote;
	uint64_t peak = kf_load(&t->peak);

	if (live > peak) {
		kf_store(&t->peak, live);
		peak = live;
	}
	/* Either this or kf_tags_reset_peaks() sees what the other stored. */
	kf_store(&node->bar, peak + remote);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (kf_load(&t->peak) != peak)
		kf_store(&node->bar, 0);
}

void kf_tags_gone_remote(uint32_t node, size_t usable)
{
	struct kf_stats_tag *t = kf_tags_at(node);

	kf_fetch_add(&t->remote_frees, 1);
	kf_fetch_add(&t->remote_freed, usable);
}

static struct kf_tag_node *base_of(uint32_t tree)
{
	uint32_t root = kf_tree_root(tree), node = 0;

	if (kf_tags.base)
		node = kf_tags_find(root, kf_tags.base);
	if (node)
		kf_tags_at(node)->entered++;
	return &kf_tags.node[node ? node : root];
}

bool kf_tags_claim(void)
{
	struct kf_tag_self *self;
	uint32_t tree;

	if (kf_tag_self == &kf_tag_ended)
		return false;
	if (kf_tag_has_tree(kf_tag_self))
		return true;
	tree = kf_tree_claim();
	if (!tree)
		return false;
	self = kf_tree_self(tree);
	*self = (struct kf_tag_self){.tree = tree};
	set_current(self, base_of(tree));
	kf_tag_self = self;
	return true;
}

void kf_tags_leave(void)
{
	struct kf_tag_self *self = kf_tag_self;

	kf_tag_self = &kf_tag_ended;
	if (kf_tag_has_tree(self))
		kf_tree_leave(self->tree);
}

void kf_tags_fork_child(void)
{
	/* The child's counts and peaks began anew. */
	for (uint32_t i = 1; i < kf_tags.nr; i++)
		kf_tags.node[i].bar = 0;
	kf_tree_fork_child(kf_tag_self->tree, kf_process_tid());
}
