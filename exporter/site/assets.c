/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The files that pages refer to; embed.sh makes arrays of them.
 */
#include "config.h"

#include "exporter/site/assets.h"
#include "exporter/site/assets-data.h"

#include <inttypes.h>
#include <string.h>

enum {
	PAGE,
	ICON,
	FLAME_STYLE,
	FLAME,
	LIVE,
	CHARTS_STYLE,
	CHARTS,
	LICENCES,
	NR_ASSETS
};

static const struct kf_asset asset_table[NR_ASSETS] = {
	[PAGE] = {"/static/page.css", "text/css; charset=utf-8", page_css,
		  sizeof(page_css)},
	[ICON] = {"/static/icon.svg", "image/svg+xml", icon_svg,
		  sizeof(icon_svg)},
	[FLAME_STYLE] = {"/static/flame.css", "text/css; charset=utf-8",
			 flame_css, sizeof(flame_css)},
	[FLAME] = {"/static/flame.js", "text/javascript; charset=utf-8",
		   flame_js, sizeof(flame_js)},
	[LIVE] = {"/static/live.js", "text/javascript; charset=utf-8", live_js,
		  sizeof(live_js)},
	[CHARTS_STYLE] = {"/static/charts.css", "text/css; charset=utf-8",
			  charts_css, sizeof(charts_css)},
	[CHARTS] = {"/static/charts.js", "text/javascript; charset=utf-8",
		    charts_js, sizeof(charts_js)},
	[LICENCES] = {"/static/licences.txt", "text/plain; charset=utf-8",
		      licences_txt, sizeof(licences_txt)},
};

/* An array begins with a newline before the file. */
static bool asset_is_built_in(const struct kf_asset *a)
{
	return a->size > 1;
}

bool kf_assets_charts(void)
{
	return asset_is_built_in(&asset_table[CHARTS]);
}

const struct kf_asset *kf_asset_find(const char *url)
{
	size_t i;

	for (i = 0; i < KF_ARRAY_SIZE(asset_table); i++) {
		if (asset_is_built_in(&asset_table[i]) &&
		    strcmp(asset_table[i].path, url) == 0)
			return &asset_table[i];
	}
	return NULL;
}

static void asset_link_to(struct kf_buf *out, const char *before,
			  const struct kf_asset *a, const char *after)
{
	kf_buf_fmt(out, "%s%s?v=%016" PRIx64 "%s\n", before, a->path,
		   kf_hash(0, a->data, a->size), after);
}

void kf_assets_link(struct kf_buf *out)
{
	asset_link_to(out, "<link rel=\"icon\" href=\"", &asset_table[ICON],
		      "\" />");
	asset_link_to(out, "<script defer=\"defer\" src=\"",
		      &asset_table[FLAME], "\"></script>");
	asset_link_to(out, "<script defer=\"defer\" src=\"", &asset_table[LIVE],
		      "\"></script>");
	asset_link_to(out, "<link rel=\"stylesheet\" href=\"",
		      &asset_table[FLAME_STYLE], "\" />");
	/* page.css comes last, to override the styles of charts */
	if (kf_assets_charts()) {
		asset_link_to(out, "<link rel=\"stylesheet\" href=\"",
			      &asset_table[CHARTS_STYLE], "\" />");
		asset_link_to(out, "<script defer=\"defer\" src=\"",
			      &asset_table[CHARTS], "\"></script>");
	}
	asset_link_to(out, "<link rel=\"stylesheet\" href=\"",
		      &asset_table[PAGE], "\" />");
}

uint64_t kf_hash(uint64_t seed, const void *data, size_t len)
{
	const unsigned char *s = data;
	uint64_t h = seed ? seed : 0xcbf29ce484222325;

	while (len--)
		h = (h ^ *s++) * 0x100000001b3;
	return h;
}
