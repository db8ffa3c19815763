// SPDX-License-Identifier: LGPL-2.1-or-later A flame graph of the sampled
// blocks: a call is a bar below its caller; its width is the memory of the call
// and of all calls below it. A click zooms in.
import { select } from "d3-selection";
import flamegraph from "d3-flame-graph";
import { bytes, element, load } from "./common.js";

const metrics = {
	live: "live bytes",
	allocated: "bytes ever allocated",
};
const row = 20;
const leastPixels = 1;

// Each library has a hue, each function a shade, so that neighbours differ.
function fill(d) {
	let hue = 0;
	let shade = 0;

	if (d.highlight)
		return "hsl(48 100% 60%)";
	for (const c of d.data.library)
		hue = (hue * 31 + c.codePointAt(0)) >>> 0;
	for (const c of d.data.name)
		shade = (shade * 31 + c.codePointAt(0)) >>> 0;
	return `hsl(${(hue * 47) % 360} 65% ${68 + (shade % 14)}%)`;
}

// Convert a tree to the chart's format for one metric; calls with a value of 0
// are left out.
function tree(node, metric) {
	return {
		name: node.name,
		library: node.library ?? "",
		mark: node.recursive ? " (recursive)" : "",
		value: node[metric],
		children: (node.children ?? [])
			.filter((child) => child[metric] > 0)
			.map((child) => tree(child, metric))
			.sort((a, b) => b.value - a.value),
	};
}

function toolbar() {
	const choice = element("select", { ariaLabel: "metric" });
	const search = element("input", {
		type: "search",
		placeholder: "Search functions",
		ariaLabel: "search functions",
	});
	const reset = element("button", { type: "button", textContent: "Show all" });
	const found = element("output", {});

	for (const [value, textContent] of Object.entries(metrics))
		choice.append(element("option", { value, textContent }));
	return { choice, search, reset, found };
}

class Flame {
	constructor(place, root) {
		this.root = root;
		this.tools = toolbar();
		this.chart = element("div", { className: "flame" });
		this.details = element("p", { className: "hint", textContent: "\u00a0" });
		place.append(
			element(
				"p",
				{ className: "tools" },
				this.tools.choice,
				this.tools.search,
				this.tools.reset,
				this.tools.found,
			),
			this.chart,
			this.details,
		);
		place.hidden = false;
		this.tools.choice.addEventListener("change", () => this.draw());
		this.tools.search.addEventListener("input", () => this.search());
		this.tools.reset.addEventListener("click", () => this.showAll());
		this.draw();
		new ResizeObserver(() => this.fit()).observe(this.chart);
	}

	draw() {
		const data = tree(this.root, this.tools.choice.value);
		const total = data.value;
		const words = (d) =>
			`${d.data.name}${d.data.mark}${d.data.library ? ` in ${d.data.library}` : ""}: ` +
			`${bytes(d.data.value)}, ` +
			`${((100 * d.data.value) / (total || 1)).toFixed(1)} %`;

		this.total = total;
		this.chart.replaceChildren();
		this.graph = flamegraph()
			.width(this.chart.clientWidth)
			.cellHeight(row)
			.inverted(true)
			.minFrameSize(leastPixels)
			.transitionDuration(0)
			.setColorMapper(fill)
			.setLabelHandler(words)
			.setDetailsHandler((text) => {
				this.details.textContent = text || "\u00a0";
			})
			.setSearchMatch((d, term) =>
				d.data.name.toLowerCase().includes(term.toLowerCase()),
			)
			.setSearchHandler((found, sum) => this.say(found.length, sum));
		select(this.chart).datum(data).call(this.graph);
		this.search();
	}

	say(calls, sum) {
		const share = ((100 * sum) / (this.total || 1)).toFixed(1);

		this.tools.found.value = `${calls} calls, ${bytes(sum)}, ${share} %`;
	}

	search() {
		const text = this.tools.search.value;

		if (text) {
			this.graph.search(text);
		} else {
			this.graph.clear();
			this.tools.found.value = "";
		}
	}

	showAll() {
		this.tools.search.value = "";
		this.search();
		this.graph.resetZoom();
	}

	fit() {
		if (this.chart.clientWidth === this.graph.width())
			return;
		this.graph.width(this.chart.clientWidth);
		this.graph.update();
	}
}

export async function drawFlame(place) {
	const root = await load(place.dataset.stacks);

	if (root.allocated > 0)
		place.flame = new Flame(place, root);
}
