/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A thread's way through its tree: see tags.h.
 */
#include "tags/tree.h"

#include "sys/process.h"

__thread struct kf_tag_self kf_tag_self
	__attribute__((tls_model("initial-exec")));

static uint64_t hash_of(const char *name, size_t *len)
{
	/* FNV-1a */
	uint64_t hash = 0xcbf29ce484222325;
	const char *p = name;

	for (; *p; p++)
		hash = (hash ^ (unsigned char)*p) * 0x100000001b3;
	*len = (size_t)(p - name);
	return hash;
}

uint32_t kf_tags_find(uint32_t parent, const char *name)
{
	struct kf_tag_name n = {.text = name};

	n.hash = hash_of(name, &n.len);
	return kf_tree_child(parent, &n);
}

void kf_tags_push(const char *name)
{
	struct kf_tag_self *self = &kf_tag_self;
	uint32_t node = self->lost ? 0 : kf_tags_find(self->current, name);

	if (!node) {
		self->lost++;
		kf_tags_at(self->current)->failed++;
		return;
	}
	kf_tags_at(node)->entered++;
	kf_tags_be_at(self, node);
}

void kf_tags_pop(void)
{
	struct kf_tag_self *self = &kf_tag_self;

	if (unlikely(self->lost)) {
		self->lost--;
		return;
	}
	if (self->current == self->base)
		return;
	kf_tags_at(self->current)->left++;
	kf_tags_be_at(self, kf_tags.node[self->current].parent);
}

void kf_tags_pause(bool on)
{
	struct kf_tag_self *self = &kf_tag_self;

	if (on)
		self->paused++;
	else if (self->paused)
		self->paused--;
	kf_tags_be_at(self, self->current);
}

/* From the top: so the first below the root goes first. */
unsigned int kf_tags_adopt(uint32_t node, uint32_t generation)
{
	struct kf_tag_self *self = &kf_tag_self;
	const struct kf_tag_node *n = &kf_tags.node[node];
	uint32_t depth = n->depth;

	if (!node || n->generation != generation)
		return 0;
	for (uint32_t d = 1; d <= depth; d++) {
		uint32_t at = node;

		while (kf_tags.node[at].depth > d)
			at = kf_tags.node[at].parent;
		/* The tag that all begin with is there already. */
		if (d == 1 && kf_tags.base)
			continue;
		if (!kf_tags_push_again(self, kf_tags.node[at].name))
			kf_tags_push(kf_tags.node[at].name);
	}
	return kf_tags.base && depth ? depth - 1 : depth;
}

void kf_tags_reset_peaks(void)
{
	uint32_t nr = __atomic_load_n(&kf_tags.nr, __ATOMIC_ACQUIRE);

	for (uint32_t i = 1; i < nr; i++) {
		struct kf_stats_tag *t = kf_tags_at(i);

		__atomic_store_n(&t->peak, kf_stats_tag_live(t),
				 __ATOMIC_RELAXED);
	}
}

void kf_tags_gone_elsewhere(uint32_t node, size_t usable)
{
	struct kf_stats_tag *t = kf_tags_at(node);

	__atomic_fetch_add(&t->remote_frees, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&t->remote_freed, usable, __ATOMIC_RELAXED);
}

bool kf_tags_claim(void)
{
	struct kf_tag_self *self = &kf_tag_self;

	if (self->ended)
		return false;
	if (self->tree)
		return true;
	self->tree = kf_tree_claim();
	if (!self->tree)
		return false;
	self->current = self->base = kf_tree_root(self->tree);
	if (kf_tags.base) {
		uint32_t node = kf_tags_find(self->base, kf_tags.base);

		self->base = node ? node : self->base;
		kf_tags_at(self->base)->entered++;
	}
	kf_tags_be_at(self, self->base);
	return true;
}

void kf_tags_leave(void)
{
	struct kf_tag_self *self = &kf_tag_self;
	uint32_t tree = self->tree;

	*self = (struct kf_tag_self){.ended = true};
	if (tree)
		kf_tree_leave(tree);
}

void kf_tags_fork_child(void)
{
	kf_tree_fork_child(kf_tag_self.tree, kf_process_tid());
}
