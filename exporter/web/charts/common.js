// SPDX-License-Identifier: LGPL-2.1-or-later

const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];

// Format bytes like the exporter's pages.
export function bytes(n) {
	let i = 0;
	let value = Math.abs(n);

	while (value >= 1023.5 && i + 1 < units.length) {
		value /= 1024;
		i++;
	}
	const digits = i && value < 99.95 ? (value < 9.995 ? 2 : 1) : 0;
	return `${n < 0 ? "-" : ""}${value.toFixed(digits)} ${units[i]}`;
}

// A colour of the style sheet in the current scheme, light or dark.
export function colour(name) {
	return getComputedStyle(document.documentElement)
		.getPropertyValue(`--${name}`)
		.trim();
}

export function whenDark(redraw) {
	matchMedia("(prefers-color-scheme: dark)").addEventListener(
		"change",
		redraw,
	);
}

export async function load(address) {
	const answer = await fetch(address, { credentials: "same-origin" });

	if (!answer.ok)
		throw new Error(`${address}: ${answer.status}`);
	return answer.json();
}

export function element(name, properties, ...children) {
	const e = Object.assign(document.createElement(name), properties);

	e.append(...children);
	return e;
}
