// SPDX-License-Identifier: LGPL-2.1-or-later
// Zooms into the flame graph and searches in it; without it the page can be
// read all the same.
"use strict";
(function () {
	const svg = document.querySelector("svg.flame");
	const bars = Array.from(svg.querySelectorAll(".bar"), (g) => {
		const rect = g.querySelector("rect");
		return {
			g, rect,
			text: g.querySelector("text"),
			label: g.querySelector("title").textContent,
			x: +rect.getAttribute("x"),
			y: +rect.getAttribute("y"),
			width: +rect.getAttribute("width"),
		};
	});
	const all = bars[0], field = document.getElementById("text");
	const found = document.getElementById("found");

	function place(bar, x, width) {
		const room = Math.floor((width - 6) / 6.6);
		const name = bar.label.split("\n")[0].replace(/ in [^ ]*$/, "");

		bar.rect.setAttribute("x", x);
		bar.rect.setAttribute("width", width);
		bar.text.setAttribute("x", x + 3);
		bar.text.textContent = room < 3 ? "" : name.slice(0, room);
	}

	// Those below are as wide as the picture, those beside are not shown.
	function zoom(to) {
		const scale = all.width / to.width;

		for (const bar of bars) {
			const around = bar.y >= to.y && bar !== to &&
				bar.x <= to.x + 0.01 &&
				bar.x + bar.width >= to.x + to.width - 0.01;
			const inside = bar.y <= to.y && bar.x >= to.x - 0.01 &&
				bar.x + bar.width <= to.x + to.width + 0.01;

			bar.g.style.display = around || inside ? "" : "none";
			bar.g.classList.toggle("above", around);
			if (around)
				place(bar, 0, all.width);
			else if (inside)
				place(bar, (bar.x - to.x) * scale, bar.width * scale);
		}
	}

	// Of bars on each other that are found the widest counts.
	function search() {
		const text = field.value.toLowerCase();
		let sum = 0, until = -1;

		for (const bar of bars)
			bar.g.classList.toggle("found", text !== "" && bar !== all &&
				bar.label.toLowerCase().includes(text));
		const hits = bars.filter((bar) => bar.g.classList.contains("found"));
		hits.sort((a, b) => a.x - b.x || b.width - a.width);
		for (const bar of hits) {
			if (bar.x < until - 0.01)
				continue;
			sum += bar.width;
			until = bar.x + bar.width;
		}
		found.textContent = text === "" ? "" :
			hits.length + " calls, " + (100 * sum / all.width).toFixed(1) + " %";
	}

	if (!all)
		return;
	for (const bar of bars)
		bar.g.addEventListener("click", () => zoom(bar));
	field.addEventListener("input", search);
	document.getElementById("reset").addEventListener("click", () => {
		field.value = "";
		search();
		zoom(all);
	});
	document.getElementById("find").style.display = "flex";
})();
