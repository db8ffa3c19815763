// SPDX-License-Identifier: LGPL-2.1-or-later
// What is above the bars of a flame graph: metric, width, direction, search and
// time, and the view that they ask for.
"use strict";
const kfFlameTools = (() => {
	const widths = ["after", "before", "change"];

	function element(name, properties, ...children) {
		const e = Object.assign(document.createElement(name), properties);

		e.append(...children);
		return e;
	}

	function labelled(text, input) {
		return element("label", {}, text, input);
	}

	function check(text) {
		return labelled(text, element("input", { type: "checkbox" }));
	}

	function range(most, value) {
		return element("input", {
			type: "range",
			min: 0,
			max: most,
			step: 1,
			value,
		});
	}

	// The elements above the bars, and what they ask for.
	class Tools {
		constructor(data) {
			this.data = data;
			this.metric = element("select", { ariaLabel: "metric" });
			for (const { key, title } of data.columns)
				this.metric.append(
					element("option", { value: key, textContent: title }),
				);
			this.width = element("select", { ariaLabel: "width of bars" });
			for (const value of widths)
				this.width.append(element("option", { textContent: value }));
			this.inverted = check("Inverted");
			this.inverted.title = "Begin with the innermost calls; above are callers";
			this.top = check("Root on top");
			this.search = element("input", {
				type: "search",
				placeholder: "Search",
				ariaLabel: "search functions, libraries and files",
			});
			this.found = element("output", { ariaLive: "polite" });
			this.reset = element("button", {
				type: "button",
				textContent: "Show all",
			});
			this.widthLabel = labelled("Width:", this.width);
			this.line = element(
				"div",
				{ className: "flame-tools" },
				this.metric,
				this.widthLabel,
				this.inverted,
				this.top,
				this.search,
				this.reset,
				this.found,
			);
			this.metric.hidden = data.columns.length < 2 || !!data.base;
			if (data.base && !(data.root[data.columns[0].key] > 0))
				this.width.value = "before";
			this.addTime();
		}

		addTime() {
			const last = (this.data.moments ?? []).length - 1;

			if (last < 0)
				return;
			this.at = range(last, this.data.shown ?? last);
			this.at.ariaLabel = "time";
			this.atText = element("output", {});
			this.compare = check("Change since");
			this.since = range(last, 0);
			this.since.ariaLabel = "time to compare with";
			this.sinceText = element("output", {});
			this.time = element(
				"div",
				{ className: "flame-tools" },
				element("label", { className: "flame-time" }, "At ", this.at,
					this.atText),
				this.compare,
				element("label", { className: "flame-time" }, this.since,
					this.sinceText),
			);
			for (const input of [this.at, this.compare, this.since])
				input.addEventListener("input", () => {
					if (!this.isTimed)
						this.metric.value = "live";
				});
		}

		// Moments were added, or thinned out to a share of them.
		extend(share) {
			const last = this.data.moments.length - 1;
			const wasLast = this.at.value === this.at.max;

			this.since.value = Math.floor(this.since.value * share);
			this.at.max = this.since.max = last;
			this.at.value = wasLast ? last : Math.floor(this.at.value * share);
		}

		// Counts over time make these metrics only.
		get isTimed() {
			return (
				!!this.time &&
				this.data.moments.length > 1 &&
				["live", "alloc", "allocated"].includes(this.metric.value)
			);
		}

		get isCompared() {
			return (
				!!this.data.base ||
				(this.isTimed && this.compare.lastChild.checked)
			);
		}

		view() {
			const view = {
				key: this.metric.value || this.data.columns[0].key,
				inverted: this.inverted.lastChild.checked,
			};

			if (this.isCompared)
				view.width = this.width.value;
			if (this.data.base)
				view.base = this.data.base;
			if (this.isTimed) {
				view.moment = +this.at.value;
				if (this.isCompared)
					view.since = +this.since.value;
			}
			return view;
		}

		show() {
			const seconds = (input) => {
				const moment = this.data.moments[+input.value];

				return this.data.live ? moment : `${moment.toFixed(1)} s`;
			};

			this.widthLabel.hidden = !this.isCompared;
			if (!this.time)
				return;
			this.time.hidden = this.data.moments.length < 2;
			this.since.disabled = !this.compare.lastChild.checked;
			this.atText.value = this.isTimed ? seconds(this.at) : "";
			this.sinceText.value = this.since.disabled ? "" : seconds(this.since);
		}

		get inputs() {
			return [
				this.metric,
				this.width,
				this.inverted.lastChild,
				this.top.lastChild,
				...(this.time
					? [this.at, this.compare.lastChild, this.since]
					: []),
			];
		}
	}

	return { Tools, element };
})();
