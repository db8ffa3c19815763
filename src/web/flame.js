// SPDX-License-Identifier: LGPL-2.1-or-later
// A flame graph of sampled calls, for the exporter's pages and for the page of
// `konfiscator report`. An element with data-calls names the source: "#ID" of
// an element with JSON, or an address. Appearance is in flame.css, geometry in
// attributes, so that the strictest policy of a page allows it.
"use strict";
const kfFlame = (() => {
	const { Tools, element } = kfFlameTools;
	const row = 19;
	const letter = 6.4; // average width
	const leastPixels = 0.6;
	const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
	const keys =
		"Keys: arrows move, Enter zooms in, Backspace zooms out, Escape shows " +
		"all, / searches.";
	const legendSize = 8;
	const mostMoments = 60;

	function bytes(n) {
		let i = 0;
		let value = Math.abs(n);

		while (value >= 1023.5 && i + 1 < units.length) {
			value /= 1024;
			i++;
		}
		const digits = i && value < 99.95 ? (value < 9.995 ? 2 : 1) : 0;
		return `${n < 0 ? "-" : ""}${value.toFixed(digits)} ${units[i]}`;
	}

	function percent(n, of) {
		return `${(of > 0 ? (100 * n) / of : 0).toFixed(1)} %`;
	}

	function svg(name, attributes, ...children) {
		const e = document.createElementNS("http://www.w3.org/2000/svg", name);

		for (const [key, value] of Object.entries(attributes))
			e.setAttribute(key, value);
		e.append(...children);
		return e;
	}

	function hash(text) {
		let h = 0;

		for (const c of text)
			h = (Math.imul(h, 31) + c.codePointAt(0)) >>> 0;
		return h;
	}

	// A hue for each library, grey without one, a shade for each function.
	function tint(library, lightness) {
		return `hsl(${(hash(library) * 47) % 360} ${library ? 70 : 8}% ${lightness}%)`;
	}

	function libraryColour(node) {
		return tint(node.library, 68 + (hash(node.name) % 16));
	}

	// Red grew, blue shrank, the darker the more; grey may be chance.
	function changeColour(node, most) {
		const change = node.value - node.before;
		const share = Math.min(1, Math.abs(change) / (most || 1));

		if (!change || kfCalls.isChance(node))
			return "hsl(0 0% 84%)";
		return `hsl(${change > 0 ? 4 : 214} 90% ${90 - 24 * Math.sqrt(share)}%)`;
	}

	class Flame {
		constructor(place, data) {
			this.place = place;
			this.zoomed = [];
			this.focused = null;
			this.box = element("div", { className: "flame-bars" });
			this.words = element("p", { className: "flame-words" });
			this.legend = element("ul", { className: "flame-legend" });
			this.take(data);
			if (data.live)
				this.calls = kfCalls.join([], this.calls, 0);
			this.tools = new Tools(data);
			this.tools.metric.value =
				place.dataset.metric ?? data.columns[0].key;
			place.replaceChildren(
				this.tools.line,
				...(this.tools.time ? [this.tools.time] : []),
				this.box,
				this.words,
				this.legend,
				element("p", { className: "flame-keys", textContent: keys }),
			);
			this.listen();
			this.draw();
		}

		listen() {
			for (const input of this.tools.inputs)
				input.addEventListener("input", () => this.draw());
			this.tools.search.addEventListener("input", () => this.search());
			this.tools.reset.addEventListener("click", () => this.showAll());
			this.place.addEventListener("keydown", (event) => this.key(event));
			this.box.addEventListener("mouseleave", () => this.say(null));
			new ResizeObserver(() => {
				if (this.box.clientWidth !== this.drawnWidth)
					this.arrange();
			}).observe(this.box);
		}

		take(data) {
			this.data = data;
			this.calls = kfCalls.take(
				data.root,
				data.columns.map((column) => column.key),
			);
		}

		// Newer counts of the same columns; what was chosen stays.
		update(data) {
			const before = this.calls;
			const moments = [...this.data.moments, ...data.moments];
			let share = 1;

			this.take({ ...data, moments });
			this.calls = kfCalls.join(before, this.calls, moments.length - 1);
			if (moments.length > mostMoments) {
				const kept = moments.map((_, i) => i).filter((i) => i % 2 === 0);

				kfCalls.thin(this.calls, kept);
				this.data.moments = kept.map((i) => moments[i]);
				share = 0.5;
			}
			this.tools.data = this.data;
			this.tools.extend(share);
			this.draw();
		}

		amount(value) {
			const { key } = this.view;
			const { unit } = this.data.columns.find((c) => c.key === key);

			return unit === "blocks"
				? `${Math.round(value)} blocks`
				: bytes(value);
		}

		draw() {
			this.tools.show();
			this.view = this.tools.view();
			this.root = kfCalls.build(this.calls, this.view);
			this.found = kfCalls.search(this.root, this.tools.search.value);
			this.arrange();
			this.sayFound();
			this.drawLegend();
		}

		choose(metric) {
			this.tools.metric.value = metric;
			this.draw();
		}

		search() {
			this.found = kfCalls.search(this.root, this.tools.search.value);
			for (const bar of this.bars)
				bar.g.classList.toggle("found", bar.node.found);
			this.sayFound();
		}

		sayFound() {
			const { calls, value } = this.found;

			this.tools.found.value = this.tools.search.value
				? `${calls} call${calls === 1 ? "" : "s"}, ${this.amount(value)}, ` +
					percent(value, this.root.weight)
				: "";
		}

		showAll() {
			this.tools.search.value = "";
			this.zoomed = [];
			this.draw();
		}

		zoom(node) {
			this.zoomed = kfCalls.pathOf(node);
			this.focused = this.zoomed;
			this.arrange();
		}

		// Where each bar is: those around the zoomed one fill the line.
		layOut(width) {
			const zoomed = kfCalls.follow(this.root, this.zoomed);
			const bars = [];
			const scale = zoomed.weight > 0 ? width / zoomed.weight : 0;
			const add = (node, x) => {
				const length = node.weight * scale;

				if (length < leastPixels)
					return;
				bars.push({ node, x, width: length, around: false });
				for (const child of node.children) {
					add(child, x);
					x += child.weight * scale;
				}
			};

			for (let node = zoomed.parent; node; node = node.parent)
				bars.unshift({ node, x: 0, width, around: true });
			add(zoomed, 0);
			this.zoomedNode = zoomed;
			return bars;
		}

		arrange() {
			const width = this.box.clientWidth;
			const hadFocus = this.box.contains(document.activeElement);
			const onTop = this.tools.top.lastChild.checked;

			this.drawnWidth = width;
			this.bars = this.layOut(width);
			this.most = Math.max(
				1,
				...this.bars
					.filter((bar) => bar.node.parent)
					.map((bar) => Math.abs(bar.node.value - bar.node.before)),
			);
			const rows =
				1 + Math.max(0, ...this.bars.map((bar) => bar.node.depth));
			const picture = svg("svg", {
				width,
				height: rows * row,
				role: "group",
				"aria-label": "flame graph",
			});
			for (const bar of this.bars) {
				bar.y = (onTop ? bar.node.depth : rows - 1 - bar.node.depth) * row;
				bar.g = this.drawBar(bar);
				picture.append(bar.g);
			}
			this.box.replaceChildren(picture);
			this.box.scrollTop = onTop ? 0 : this.box.scrollHeight;
			this.makeReachable(hadFocus);
		}

		drawBar(bar) {
			const { node, x, y, width } = bar;
			const room = Math.floor((width - 6) / letter);
			const name =
				room >= node.name.length
					? node.name
					: room < 3
						? ""
						: `${node.name.slice(0, room - 1)}\u2026`;
			const g = svg(
				"g",
				{ role: "button", tabindex: -1, "data-name": node.name },
				svg("title", {}, this.describe(node)),
				svg("rect", {
					x,
					y,
					width,
					height: row - 1,
					rx: 1.5,
					fill: this.tools.isCompared
						? changeColour(node, this.most)
						: libraryColour(node),
				}),
			);

			if (name)
				g.append(svg("text", { x: x + 3, y: y + row - 6 }, name));
			g.classList.toggle("around", bar.around);
			g.classList.toggle("found", node.found);
			g.addEventListener("click", () => this.zoom(node));
			g.addEventListener("mouseenter", () => this.say(node));
			g.addEventListener("focus", () => this.focus(node));
			return g;
		}

		describe(node) {
			const error = this.amount(kfCalls.error(node.variance));
			const lines = [
				node.name +
					(node.recursive ? " (recursive)" : "") +
					(node.library ? ` in ${node.library}` : ""),
			];

			if (node.file)
				lines.push(node.file);
			lines.push(
				`${this.amount(node.value)} \u00b1 ${error}, ` +
					`${percent(node.value, this.root.value)} of all` +
					(this.zoomedNode?.parent
						? `, ${percent(node.value, this.zoomedNode.value)} of ` +
							this.zoomedNode.name
						: "") +
					(node.samples && !this.tools.isTimed && !this.tools.isCompared
						? `, ${node.samples} sample${node.samples === 1 ? "" : "s"}`
						: ""),
			);
			if (this.tools.isCompared)
				lines.push(this.describeChange(node));
			return lines.join("\n");
		}

		describeChange(node) {
			const change = node.value - node.before;

			return (
				`before ${this.amount(node.before)}, change ` +
				`${change > 0 ? "+" : ""}${this.amount(change)} \u00b1 ` +
				this.amount(kfCalls.error(node.change)) +
				(change && kfCalls.isChance(node) ? ", may be chance" : "")
			);
		}

		say(node) {
			this.words.textContent = node ? this.describe(node) : "";
		}

		drawLegend() {
			const shares = new Map();
			const add = (node) => {
				const below = node.children.reduce((sum, c) => sum + c.weight, 0);
				const share = shares.get(node.library) ?? 0;

				shares.set(node.library, share + node.weight - below);
				node.children.forEach(add);
			};
			let rows = [
				["grew", "hsl(4 90% 70%)"],
				["shrank", "hsl(214 90% 70%)"],
				["may be chance", "hsl(0 0% 84%)"],
			];

			if (!this.tools.isCompared) {
				this.root.children.forEach(add);
				rows = [...shares]
					.filter(([library, share]) => library && share > 0)
					.sort((a, b) => b[1] - a[1])
					.slice(0, legendSize)
					.map(([library, share]) => [
						`${library} ${percent(share, this.root.weight)}`,
						tint(library, 74),
					]);
			}
			this.legend.title = this.tools.isCompared
				? ""
				: this.view.inverted
					? "by outermost call"
					: "by innermost call";
			this.legend.replaceChildren(
				...rows.map(([text, fill]) =>
					element(
						"li",
						{},
						svg(
							"svg",
							{ viewBox: "0 0 10 10", "aria-hidden": "true" },
							svg("rect", { width: 10, height: 10, fill }),
						),
						text,
					),
				),
			);
		}

		barOf(names) {
			const node = kfCalls.follow(this.root, names);

			return this.bars.find((bar) => bar.node === node);
		}

		// One bar is in the order of the tab key.
		makeReachable(hasFocus) {
			const bar =
				this.barOf(this.focused ?? this.zoomed) ??
				this.bars.find((b) => b.node === this.zoomedNode);

			bar?.g.setAttribute("tabindex", 0);
			if (hasFocus)
				bar?.g.focus({ preventScroll: true });
		}

		focus(node) {
			for (const bar of this.bars)
				bar.g.setAttribute("tabindex", bar.node === node ? 0 : -1);
			this.focused = kfCalls.pathOf(node);
			this.say(node);
		}

		// The bar beside another in a direction of the keys; bars stand in the
		// order of a walk through the tree.
		beside(bar, key) {
			const onTop = this.tools.top.lastChild.checked;
			const outward = onTop ? "ArrowUp" : "ArrowDown";
			const inRow = this.bars.filter(
				(b) => b.node.depth === bar.node.depth,
			);
			const at = inRow.indexOf(bar);

			if (key === "ArrowLeft")
				return inRow[at - 1];
			if (key === "ArrowRight")
				return inRow[at + 1];
			if (key === outward)
				return this.bars.find((b) => b.node === bar.node.parent);
			return this.bars.find((b) => b.node.parent === bar.node);
		}

		key(event) {
			const bar = this.bars.find((b) => b.g === event.target);

			if (event.ctrlKey || event.altKey || event.metaKey)
				return;
			if (event.key === "Escape") {
				this.showAll();
			} else if (!bar) {
				return;
			} else if (event.key.startsWith("Arrow")) {
				this.beside(bar, event.key)?.g.focus();
			} else if (event.key === "Enter" || event.key === " ") {
				this.zoom(bar.node);
			} else if (event.key === "Backspace") {
				this.zoom(this.zoomedNode.parent ?? this.root);
			} else if (event.key === "/") {
				this.tools.search.focus();
			} else {
				return;
			}
			event.preventDefault();
		}
	}

	// The exporter's address answers with the tree alone; what was loaded before
	// is kept for comparisons.
	const exported = [
		{ key: "live", title: "live bytes", unit: "bytes" },
		{ key: "allocated", title: "bytes ever allocated", unit: "bytes" },
		{ key: "live_blocks", title: "live blocks", unit: "blocks" },
		{
			key: "allocated_blocks",
			title: "blocks ever allocated",
			unit: "blocks",
		},
	];

	async function load(source) {
		let answer;

		if (source.startsWith("#"))
			return JSON.parse(document.querySelector(source).textContent);
		answer = await fetch(source, { credentials: "same-origin" });
		if (!answer.ok)
			throw new Error(`${source}: ${answer.status}`);
		return {
			root: await answer.json(),
			columns: exported,
			moments: [new Date().toLocaleTimeString()],
			live: true,
		};
	}

	// Draws the graph of an element, or its newer data. Without samples the
	// element keeps what it has.
	async function show(place) {
		const data = await load(place.dataset.calls);

		if (!data.columns.some(({ key }) => data.root[key] > 0))
			return;
		place.closest("[hidden]")?.removeAttribute("hidden");
		if (place.flame)
			place.flame.update(data);
		else
			place.flame = new Flame(place, data);
	}

	for (const place of document.querySelectorAll("[data-calls]"))
		show(place);
	// The page's own switch of bytes and blocks turns the graph as well.
	for (const input of document.querySelectorAll("input[name='by']"))
		input.addEventListener("input", () =>
			document.querySelector("[data-calls]").flame?.choose(input.value),
		);
	return { show, bytes };
})();
