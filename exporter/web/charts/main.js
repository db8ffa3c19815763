// SPDX-License-Identifier: LGPL-2.1-or-later Charts for browsers with scripts:
// zoomable timelines. Attributes of a page name the sources of the data;
// without this file the page has small pictures and tables instead.
import { drawTimeline } from "./timeline.js";

function draw() {
	for (const place of document.querySelectorAll("[data-history]")) {
		if (place.timeline)
			place.timeline.refresh();
		else
			drawTimeline(place);
	}
}

draw();
document.addEventListener("konfiscator:refresh", draw);
