// SPDX-License-Identifier: LGPL-2.1-or-later
// Keeps a page up to date: its sections come anew from the server every two
// seconds, and charts and the flame graph are told to load theirs. A hidden or
// paused page loads nothing; what is unfolded, focused or selected stays. Totals
// in tables get a rate: how much they grew since the look before.
"use strict";
(() => {
	const everyMs = 2000;
	const main = document.querySelector("main");
	const told = document.getElementById("as-of");
	const button = Object.assign(document.createElement("button"), {
		type: "button",
		id: "pause",
		textContent: "Pause",
	});
	const failure = document.createElement("span");
	const times = new WeakMap(); // of each section, when its contents were made
	let paused = false;
	let busy = false;

	// What a fold is about, without its numbers.
	function keyOf(details) {
		const summary = details.querySelector("summary");

		return (summary.querySelector("code") ?? summary).textContent.replace(
			/[0-9.]+/g,
			"",
		);
	}

	function isInUse(section) {
		const selection = document.getSelection();

		return (
			section.contains(document.activeElement) ||
			(!selection.isCollapsed && section.contains(selection.anchorNode))
		);
	}

	// When a page was made, in milliseconds of the exporter's clock.
	function timeOf(page) {
		return Number(page.querySelector("#as-of [data-ms]").dataset.ms);
	}

	function rateText(n, unit) {
		const scale = n < 9999.5 ? 0 : Math.floor(Math.log10(n * 1.0005) / 3);
		const value = n / 1000 ** scale;
		const digits = n > 0 && value < 9.95 ? 1 : 0;

		if (unit === "bytes")
			return `${kfFlame.bytes(n)}/s`;
		return `${value.toFixed(digits)}${scale ? " " : ""}${" kMGTPE"[scale].trim()}/s`;
	}

	// A smaller total belongs to a new row with the same key.
	function addRates(section, fresh, seconds) {
		for (const row of fresh.querySelectorAll("tr[data-key]")) {
			const known = section.querySelector(
				`tr[data-key="${row.dataset.key}"]`,
			);

			for (const cell of row.querySelectorAll("[data-total]")) {
				const before = known?.querySelector(
					`[data-label="${cell.dataset.label}"]`,
				);
				const more = cell.dataset.total - before?.dataset.total;

				if (!(more >= 0 && seconds > 0))
					continue;
				const rate = document.createElement("small");

				rate.textContent = rateText(more / seconds, cell.dataset.unit);
				cell.append(" ", rate);
			}
		}
	}

	// Puts new contents into a section; a chart keeps its element.
	function renew(section, fresh, now) {
		const open = new Set(
			[...section.querySelectorAll("details[open]")].map(keyOf),
		);
		const plot = section.querySelector(".plot");

		for (const details of fresh.querySelectorAll("details"))
			details.open = open.has(keyOf(details));
		if (plot?.timeline)
			fresh.querySelector(".plot")?.replaceWith(plot);
		addRates(section, fresh, (now - times.get(section)) / 1000);
		times.set(section, now);
		section.className = fresh.className;
		section.replaceChildren(...fresh.childNodes);
	}

	// Sections come and go; the flame graph has data of its own.
	function renewAll(fresh, now) {
		const wanted = new Set();
		let last = main.querySelector("h1");

		for (const section of [...fresh.children]) {
			const known = section.id && document.getElementById(section.id);

			if (!section.id)
				continue;
			wanted.add(section.id);
			if (!known) {
				last.after(section);
				times.set(section, now);
				last = section;
				continue;
			}
			last = known;
			if (known.id !== "flame" && !isInUse(known))
				renew(known, section, now);
		}
		for (const section of [...main.children]) {
			if (section.id && !wanted.has(section.id))
				section.remove();
		}
	}

	async function load() {
		const answer = await fetch(location.href, {
			credentials: "same-origin",
			cache: "no-store",
		});

		if (answer.status === 404)
			throw new Error("the process has ended");
		if (!answer.ok)
			throw new Error(`the exporter answers ${answer.status}`);
		return new DOMParser().parseFromString(await answer.text(), "text/html");
	}

	async function refresh() {
		let fresh;

		if (paused || busy || document.hidden)
			return;
		busy = true;
		try {
			fresh = await load();
			renewAll(fresh.querySelector("main"), timeOf(fresh));
			told.firstElementChild.replaceWith(
				fresh.querySelector("#as-of").firstElementChild,
			);
			failure.textContent = "";
			for (const place of document.querySelectorAll("[data-calls]"))
				await kfFlame.show(place);
			document.dispatchEvent(new Event("konfiscator:refresh"));
		} catch (error) {
			failure.textContent = ` (${
				error instanceof TypeError
					? "the exporter cannot be reached"
					: error.message
			})`;
		}
		busy = false;
	}

	button.addEventListener("click", () => {
		paused = !paused;
		button.textContent = paused ? "Resume" : "Pause";
		refresh();
	});
	told.append(failure, " ", button);
	for (const section of main.children)
		times.set(section, timeOf(document));
	setInterval(refresh, everyMs);
})();
