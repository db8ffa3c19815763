/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The labels of frames by --group, and the call tree of all sites.
 */
#include "config.h"

#include "cli/profile/profile.h"

#include <stdlib.h>
#include <string.h>

static const char *tree_no_stack(const struct kf_site *site)
{
	return site->stack->flags & KF_STACK_OVERFLOW
		       ? "[stacks beyond the table]"
		       : "[no stack]";
}

char *kf_site_call(const struct kf_frame *frame)
{
	char text[2 * sizeof(struct kf_stats_call)];

	if (!(frame->address & KF_STATS_CALL))
		return kf_format("%s", frame->function);
	kf_frame_label(frame, text, sizeof(text));
	return kf_format("%s", text);
}

char *kf_site_label(const struct kf_prof *prof, const struct kf_frame *frame)
{
	if (prof->pick.group == KF_GROUP_LIB)
		return kf_format("%s", frame->library);
	if (prof->pick.group == KF_GROUP_LINE && frame->file && frame->line)
		return kf_format("%s %s:%u", frame->function, frame->file,
				 frame->line);
	return kf_site_call(frame);
}

char *kf_site_group(const struct kf_prof *prof, const struct kf_site *site)
{
	switch (prof->pick.group) {
	case KF_GROUP_TAG:
		return kf_format("%s", site->tag[0] ? site->tag : "[no tag]");
	case KF_GROUP_THREAD:
		return kf_format("%s", site->thread[0] ? site->thread
						       : "[no thread]");
	case KF_GROUP_PROCESS:
		return kf_format("%s", site->process->label);
	default:
		if (site->nr_frames)
			return kf_site_label(prof, site->frames[0]);
		return kf_format("%s", tree_no_stack(site));
	}
}

/*
 * The process, if there are several; the parts of a tag's path, or the thread.
 * A stack that was cut off gets a node "[outer calls]", so that it does not
 * look like a program of its own.
 */
static size_t tree_prefix(const struct kf_prof *prof,
			  const struct kf_site *site, char **labels)
{
	size_t nr = 0;
	char *path, *part, *save;

	if (prof->nr_chosen > 1 && prof->pick.group != KF_GROUP_PROCESS)
		labels[nr++] = kf_format("%s", site->process->name);
	if (prof->pick.group == KF_GROUP_TAG && site->tag[0]) {
		path = kf_format("%s", site->tag);
		for (part = strtok_r(path, "/", &save); part;
		     part = strtok_r(NULL, "/", &save))
			labels[nr++] = kf_format("[%s]", part);
		free(path);
	} else if (prof->pick.group == KF_GROUP_TAG ||
		   prof->pick.group == KF_GROUP_THREAD ||
		   prof->pick.group == KF_GROUP_PROCESS) {
		labels[nr++] = kf_site_group(prof, site);
	}
	if (kf_profile_is_cut(site->process->profile, site->stack))
		labels[nr++] = kf_format("[outer calls]");
	return nr;
}

char **kf_site_labels(const struct kf_prof *prof, const struct kf_site *site,
		      size_t *nr)
{
	size_t room = site->nr_frames + KF_PROFILE_TAG_PATH + 3;
	char **labels = kf_alloc(room, sizeof(*labels));
	size_t prefix = tree_prefix(prof, site, labels), n = prefix;

	for (size_t i = site->nr_frames; i-- > 0;) {
		char *label = kf_site_label(prof, site->frames[i]);

		if (prof->pick.group == KF_GROUP_LIB && n > prefix &&
		    !strcmp(labels[n - 1], label))
			free(label);
		else
			labels[n++] = label;
	}
	if (!site->nr_frames)
		labels[n++] = kf_format("%s", tree_no_stack(site));
	*nr = n;
	return labels;
}

void kf_site_labels_free(char **labels, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		free(labels[i]);
	free(labels);
}

struct kf_calls_row *kf_site_rows(const struct kf_prof *prof,
				  kf_site_write *write, size_t *nr)
{
	struct kf_calls_row *rows = kf_alloc(prof->nr_sites, sizeof(*rows));
	bool done = true;

	*nr = prof->nr_sites;
	for (size_t i = 0; i < *nr; i++) {
		const struct kf_site *site = &prof->sites[i];
		size_t size;
		FILE *out = open_memstream(&rows[i].shown, &size);

		if (out)
			write(prof, site, out);
		done &= out && !fclose(out);
		rows[i].value = site->value;
		rows[i].samples = site->now.samples;
	}
	if (!done || !kf_calls_join(rows, nr)) {
		kf_error("out of memory");
		exit(KF_EXIT_FAILED);
	}
	return rows;
}

static struct kf_node *tree_child(struct kf_node *node, const char *label)
{
	for (size_t i = 0; i < node->nr; i++) {
		if (!strcmp(node->nodes[i].label, label))
			return &node->nodes[i];
	}
	/* the room doubles: it is full whenever the number is a power of 2 */
	if (!(node->nr & (node->nr - 1))) {
		size_t room = node->nr ? 2 * node->nr : 1;

		node->nodes = realloc(node->nodes, room * sizeof(*node));
		if (!node->nodes) {
			kf_error("out of memory");
			exit(KF_EXIT_FAILED);
		}
	}
	node->nodes[node->nr] = (struct kf_node){
		.label = kf_format("%s", label),
	};
	return &node->nodes[node->nr++];
}

static void tree_add_site(const struct kf_prof *prof, struct kf_node *node,
			  const struct kf_site *site)
{
	size_t nr;
	char **labels = kf_site_labels(prof, site, &nr);

	kf_metric_add(&node->value, &site->value);
	node->samples += (double)site->now.samples;
	for (size_t i = 0; i < nr; i++) {
		node = tree_child(node, labels[i]);
		kf_metric_add(&node->value, &site->value);
		node->samples += (double)site->now.samples;
		if (nr - i <= site->nr_frames) {
			node->frame = site->frames[nr - i - 1];
			node->recursive |= site->recursive[nr - i - 1];
		}
	}
	kf_metric_add(&node->self, &site->value);
	kf_site_labels_free(labels, nr);
}

static int tree_by_value(const void *a, const void *b)
{
	const struct kf_node *x = a, *y = b;

	if (x->value.value != y->value.value)
		return x->value.value < y->value.value ? 1 : -1;
	return strcmp(x->label, y->label);
}

/* The recursion is bounded: a tree is at most as deep as its stacks. */
static void sort_nodes(struct kf_node *node)
{
	if (node->nr)
		qsort(node->nodes, node->nr, sizeof(*node->nodes),
		      tree_by_value);
	for (size_t i = 0; i < node->nr; i++)
		sort_nodes(&node->nodes[i]);
}

struct kf_node *kf_tree_make(const struct kf_prof *prof)
{
	struct kf_node *root = kf_alloc(1, sizeof(*root));

	root->label = kf_format("all");
	for (size_t i = 0; i < prof->nr_sites; i++) {
		if (prof->sites[i].value.value > 0)
			tree_add_site(prof, root, &prof->sites[i]);
	}
	sort_nodes(root);
	return root;
}

static void free_nodes(struct kf_node *node)
{
	for (size_t i = 0; i < node->nr; i++)
		free_nodes(&node->nodes[i]);
	free(node->nodes);
	free(node->label);
}

void kf_tree_free(struct kf_node *root)
{
	free_nodes(root);
	free(root);
}
