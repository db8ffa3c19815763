/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A flame graph as SVG: each call is a bar above its caller; its width is the
 * value of the call and its callees. The picture needs no script; the script of
 * the HTML page zooms by moving the bars.
 */
#include "config.h"

#include "cli/profile/views.h"

#include <string.h>

#define WIDTH 1200.0
#define ROW 18
#define LETTER 6.6 /* average width of a letter */
#define LEAST 0.4  /* narrower bars are left out */
#define HEAD 26

void kf_xml_text(FILE *out, const char *text)
{
	char safe[4096];

	for (const char *p = kf_escape(safe, sizeof(safe), text); *p; p++) {
		switch (*p) {
		case '<':
			fputs("&lt;", out);
			break;
		case '>':
			fputs("&gt;", out);
			break;
		case '&':
			fputs("&amp;", out);
			break;
		case '"':
			fputs("&quot;", out);
			break;
		default:
			fputc(*p, out);
		}
	}
}

char *kf_page_amount(char *buf, size_t size, enum kf_metric metric,
		     double value)
{
	if (kf_metric_is_blocks(metric))
		return kf_human_count(buf, size, value);
	return kf_human_size(buf, size, KF_MAX(value, 0.0));
}

/*
 * A hue for each library, grey without one, a shade for each function, so that
 * neighbours differ.
 */
static void flame_colour(const struct kf_node *node, char buf[32])
{
	unsigned int hue = 0, shade = 0;
	const char *library = node->frame ? node->frame->library : "";

	for (const char *p = library; *p; p++)
		hue = hue * 31 + (unsigned char)*p;
	for (const char *p = node->label; *p; p++)
		shade = shade * 31 + (unsigned char)*p;
	snprintf(buf, 32, "hsl(%u,%u%%,%u%%)", (hue * 47) % 360,
		 *library ? 70 : 8, 68 + shade % 16);
}

static int depth_of(const struct kf_node *node, double scale)
{
	int most = 0;

	for (size_t i = 0; i < node->nr; i++) {
		if (node->nodes[i].value.value * scale >= LEAST)
			most = KF_MAX(most, depth_of(&node->nodes[i], scale));
	}
	return most + 1;
}

static void flame_title(const struct kf_prof *prof, const struct kf_node *node,
			double total, FILE *out)
{
	char value[32], error[32];
	enum kf_metric metric = prof->pick.metric;

	fputs("<title>", out);
	kf_xml_text(out, node->label);
	if (node->recursive)
		fputs(KF_RECURSIVE, out);
	if (node->frame && strcmp(node->frame->library, "?") != 0) {
		fputs(" in ", out);
		kf_xml_text(out, node->frame->library);
	}
	fprintf(out, "\n%s \302\261 %s, %.1f %%, %.0f samples</title>",
		kf_page_amount(value, sizeof(value), metric, node->value.value),
		kf_page_amount(error, sizeof(error), metric,
			       kf_estimate_error(node->value)),
		total > 0 ? 100 * node->value.value / total : 0, node->samples);
}

/* The name, cut to the width of the bar. */
static void flame_caption(const struct kf_node *node, double x, double y,
			  double width, FILE *out)
{
	int room = (int)((width - 6) / LETTER);
	char part[256];

	fprintf(out, "<text x=\"%.2f\" y=\"%.0f\">", x + 3, y + ROW - 5);
	if (room >= 3) {
		int len = (int)strlen(node->label);

		if (len > room) {
			/* do not print half of a UTF-8 letter */
			while (room > 0 && (node->label[room] & 0xc0) == 0x80)
				room--;
			len = room;
		}
		snprintf(part, sizeof(part), "%.*s", len, node->label);
		kf_xml_text(out, part);
	}
	fputs("</text>", out);
}

static void flame_bar(const struct kf_prof *prof, const struct kf_node *node,
		      double x, int level, int levels, double total, FILE *out)
{
	double scale = WIDTH / total;
	double width = node->value.value * scale;
	double y = HEAD + (levels - 1 - level) * ROW;
	char fill[32];

	flame_colour(node, fill);
	fputs("<g class=\"bar\">", out);
	flame_title(prof, node, total, out);
	fprintf(out,
		"<rect x=\"%.2f\" y=\"%.0f\" width=\"%.2f\" height=\"%d\" "
		"rx=\"1\" fill=\"%s\"/>",
		x, y, width, ROW - 1, fill);
	flame_caption(node, x, y, width, out);
	fputs("</g>\n", out);
	for (size_t i = 0; i < node->nr; i++) {
		const struct kf_node *child = &node->nodes[i];

		if (child->value.value * scale < LEAST)
			continue;
		flame_bar(prof, child, x, level + 1, levels, total, out);
		x += child->value.value * scale;
	}
}

void kf_flame_write(const struct kf_prof *prof, const struct kf_node *root,
		    FILE *out)
{
	const struct kf_stats_identity *id = kf_prof_identity(prof);
	double total = root->value.value;
	int levels = total > 0 ? depth_of(root, WIDTH / total) : 1;
	char value[32];

	fprintf(out,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"flame\" "
		"viewBox=\"0 0 %.0f %d\" width=\"100%%\" "
		"font-family=\"sans-serif\" font-size=\"11\">\n"
		"<style>.bar text{pointer-events:none}"
		".bar rect{stroke:#fff;stroke-width:.5}"
		".bar:hover rect{stroke:#000}</style>\n"
		"<text x=\"3\" y=\"16\" font-size=\"13\">",
		WIDTH, HEAD + levels * ROW);
	kf_xml_text(out, id->name[0] ? id->name : id->comm);
	fprintf(out, " (process %d): %s %s</text>\n", id->pid,
		kf_metric_title(prof->pick.metric),
		kf_page_amount(value, sizeof(value), prof->pick.metric, total));
	if (total > 0)
		flame_bar(prof, root, 0, 0, levels, total, out);
	fputs("</svg>\n", out);
}

static int write_svg(const struct kf_prof *prof, FILE *out)
{
	struct kf_node *root = kf_tree_make(prof);

	fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n", out);
	kf_flame_write(prof, root, out);
	kf_tree_free(root);
	return 0;
}

const struct kf_prof_format kf_prof_format_svg = {"svg", write_svg, true};
