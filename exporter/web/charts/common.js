// SPDX-License-Identifier: LGPL-2.1-or-later

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
