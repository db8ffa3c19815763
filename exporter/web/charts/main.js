// SPDX-License-Identifier: LGPL-2.1-or-later
// What a page gains where scripts run: timelines to zoom into, and a flame
// graph. A page says by attributes where the data is; without this file it has
// small pictures and tables in their place.
import { drawFlame } from "./flame.js";
import { drawTimeline } from "./timeline.js";

for (const place of document.querySelectorAll("[data-history]"))
	drawTimeline(place);
for (const place of document.querySelectorAll("[data-stacks]"))
	drawFlame(place);
