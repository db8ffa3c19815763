/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The files that pages need beside them; embed.sh makes arrays of them.
 */
#include "config.h"

#include "exporter/assets.h"
#include "exporter/assets-data.h"

#include <inttypes.h>
#include <string.h>

static const struct kf_asset assets[] = {
	{"/static/page.css", "text/css; charset=utf-8", page_css,
	 sizeof(page_css)},
	{"/static/icon.svg", "image/svg+xml", icon_svg, sizeof(icon_svg)},
};

const struct kf_asset *kf_asset_find(const char *url)
{
	size_t i;

	for (i = 0; i < KF_ARRAY_SIZE(assets); i++) {
		if (strcmp(assets[i].path, url) == 0)
			return &assets[i];
	}
	return NULL;
}

static void link_to(struct kf_buf *out, const char *before,
		    const struct kf_asset *a, const char *after)
{
	kf_buf_fmt(out, "%s%s?v=%016" PRIx64 "%s\n", before, a->path,
		   kf_hash(0, a->data, a->size), after);
}

void kf_assets_link(struct kf_buf *out)
{
	link_to(out, "<link rel=\"stylesheet\" href=\"", &assets[0], "\" />");
	link_to(out, "<link rel=\"icon\" href=\"", &assets[1], "\" />");
}

uint64_t kf_hash(uint64_t seed, const void *data, size_t len)
{
	const unsigned char *s = data;
	uint64_t h = seed ? seed : 0xcbf29ce484222325;

	while (len--)
		h = (h ^ *s++) * 0x100000001b3;
	return h;
}
