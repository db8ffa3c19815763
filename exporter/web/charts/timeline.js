// SPDX-License-Identifier: LGPL-2.1-or-later
// Held memory by state over time, as stacked areas. Dragging zooms in; the
// button, or a double click, shows everything again. While everything is shown,
// new data is loaded whenever the page is refreshed.
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { colour, load, whenDark } from "./common.js";

// flame.js and flame-tools.js come before this file on each page
const { bytes } = kfFlame;
const { element } = kfFlameTools;
const parts = ["metadata", "live", "rounding", "cached", "free"];
const height = 260;

// uPlot does not stack series: each series is the sum of the parts up to it,
// and the area between it and the previous one is its part.
function stack(past) {
	const sums = [];
	let before = past.time.map(() => 0);

	for (const part of parts) {
		before = past[part].map((v, i) =>
			v === null || before[i] === null ? null : before[i] + v,
		);
		sums.push(before);
	}
	return [past.time, ...sums];
}

function series(past) {
	// without a cursor the legend has the newest values
	const own = (part) => (u, v, s, i) => {
		const value = past()[part][i ?? past().time.length - 1];

		return value === null ? "unknown" : bytes(value);
	};

	return [
		{
			label: "time",
			value: (u, v) =>
				v === null
					? "now"
					: uPlot.fmtDate("{YYYY}-{MM}-{DD} {HH}:{mm}:{ss}")(
							new Date(v * 1000),
						),
		},
		...parts.map((part) => ({
			label: part,
			stroke: colour(part),
			fill: colour(part),
			width: 0,
			points: { show: false },
			value: own(part),
		})),
	];
}

// Minimum seconds between two grid lines, their label, and the second label
// where the date or the minute changes.
const times = [
	[86400, "{YYYY}-{MM}-{DD}", null, null, null, null, null, null, 1],
	[60, "{HH}:{mm}", "\n{YYYY}-{MM}-{DD}", null, "\n{YYYY}-{MM}-{DD}", null, null, null, 1],
	[1, "{HH}:{mm}:{ss}", "\n{YYYY}-{MM}-{DD}", null, "\n{YYYY}-{MM}-{DD}", null, null, null, 1],
];

function axis(more) {
	return {
		stroke: colour("dim"),
		grid: { stroke: colour("line"), width: 1 },
		ticks: { stroke: colour("line"), width: 1 },
		...more,
	};
}

function options(width, past, zoomed) {
	const powers = Array.from({ length: 60 }, (_, i) => 2 ** i);

	return {
		width,
		height,
		series: series(past),
		// the area of a part is bounded by the series below it
		bands: parts.slice(1).map((_, i) => ({ series: [i + 2, i + 1] })),
		scales: { y: { range: (u, min, max) => [0, max > 0 ? max * 1.05 : 1] } },
		axes: [
			axis({ values: times, space: 90 }),
			axis({
				size: 76,
				incrs: powers,
				values: (u, splits) => splits.map(bytes),
			}),
		],
		cursor: { drag: { x: true, y: false } },
		hooks: { setScale: [zoomed] },
	};
}

// A chart in an element; it is rebuilt when the colour scheme changes.
class Timeline {
	constructor(place, past) {
		this.place = place;
		this.past = past;
		this.reset = element("button", {
			type: "button",
			className: "reset",
			textContent: "Show all",
			hidden: true,
		});
		this.reset.addEventListener("click", () => this.showAll());
		this.draw();
		whenDark(() => this.draw());
		new ResizeObserver(() => this.fit()).observe(place);
	}

	get zoomed() {
		const { min, max } = this.plot.scales.x;
		const { time } = this.past;

		return min > time[0] || max < time[time.length - 1];
	}

	draw() {
		const zoomed = () => {
			if (this.plot)
				this.reset.hidden = !this.zoomed;
		};

		this.plot?.destroy();
		this.plot = null;
		this.place.replaceChildren(this.reset);
		this.plot = new uPlot(
			options(this.place.clientWidth, () => this.past, zoomed),
			stack(this.past),
			this.place,
		);
	}

	fit() {
		if (this.place.clientWidth !== this.plot.width)
			this.plot.setSize({ width: this.place.clientWidth, height });
	}

	showAll() {
		const { time } = this.past;

		this.plot.setScale("x", { min: time[0], max: time[time.length - 1] });
	}

	async refresh() {
		if (this.zoomed)
			return;
		this.past = await load(this.place.dataset.history);
		this.plot.setData(stack(this.past));
	}
}

export async function drawTimeline(place) {
	const past = await load(place.dataset.history);

	// two may have been asked for at once
	if (past.time.length > 1 && !place.timeline)
		place.timeline = new Timeline(place, past);
}
