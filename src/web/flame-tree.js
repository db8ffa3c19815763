// SPDX-License-Identifier: LGPL-2.1-or-later
// The calls of a flame graph: from a tree of calls as the exporter and
// `konfiscator report` write it, the tree that is drawn, from the root or from
// the leaves, of one metric, at a moment, or as a change.
"use strict";
const kfCalls = (() => {
	const normal95 = 1.96;
	const none = { value: 0, variance: 0 };
	const zeros = [0, 0, 0, 0, 0];

	// A node has sums; a call has what its children do not have. The root
	// comes first, and a call after its parent.
	function take(root, keys) {
		const calls = [];
		const add = (node, parent) => {
			const call = {
				name: node.name,
				library: node.library ?? "",
				file: node.file ?? "",
				recursive: node.recursive ?? false,
				samples: node.samples ?? 0,
				over: node.over ?? null,
				parent,
				path: parent ? `${parent.path}\n${node.name}` : "",
				self: {},
			};
			for (const key of keys)
				call.self[key] = {
					value: node[key] ?? 0,
					variance: ((node[`${key}_error_95`] ?? 0) / normal95) ** 2,
				};
			calls.push(call);
			for (const child of node.children ?? []) {
				add(child, call);
				call.samples -= child.samples ?? 0;
				for (const key of keys) {
					const self = call.self[key];

					self.value -= child[key] ?? 0;
					self.variance -=
						((child[`${key}_error_95`] ?? 0) / normal95) ** 2;
				}
			}
			for (const key of keys) {
				const self = call.self[key];

				self.value = Math.max(0, self.value);
				self.variance = Math.max(0, self.variance);
			}
		};
		add(root, null);
		return calls;
	}

	// Bytes allocated and freed until a moment, and the deviations of both.
	function countsAt(call, moment) {
		let found = zeros;

		for (const counts of call.over ?? []) {
			if (counts[0] > moment)
				break;
			found = counts;
		}
		return found;
	}

	function isAllocated(key) {
		return key === "alloc" || key === "allocated";
	}

	function estimateAt(call, key, moment) {
		const [, allocated, freed, deviation, freedDeviation] =
			countsAt(call, moment);

		if (isAllocated(key))
			return { value: allocated, variance: deviation ** 2 };
		return {
			value: Math.max(0, allocated - freed),
			variance: Math.max(0, deviation ** 2 - freedDeviation ** 2),
		};
	}

	// Samples that are in both moments have no part in the error of a change.
	function changeVariance(call, key, from, to) {
		const a = countsAt(call, Math.min(from, to));
		const b = countsAt(call, Math.max(from, to));
		const allocated = b[3] ** 2 - a[3] ** 2;

		return Math.max(
			0,
			isAllocated(key) ? allocated : allocated + b[4] ** 2 - a[4] ** 2,
		);
	}

	function isSame(a, b) {
		return a[1] === b[1] && a[2] === b[2];
	}

	function addCounts(call, counts) {
		call.over = call.over ?? [];
		if (!isSame(call.over[call.over.length - 1] ?? zeros, counts))
			call.over.push(counts);
	}

	// The counts of a call by the sums that the exporter has.
	function countsOf(call, moment) {
		const { live, allocated } = call.self;
		const freed = Math.max(0, allocated.variance - live.variance);

		return [
			moment,
			allocated.value,
			Math.max(0, allocated.value - live.value),
			Math.sqrt(allocated.variance),
			Math.sqrt(freed),
		];
	}

	// Calls with their counts at one more moment, by those of a newer tree. A
	// call that is not in it any more has freed all it had.
	function join(calls, newer, moment) {
		const known = new Map(calls.map((call) => [call.path, call]));

		for (const call of newer) {
			const old = known.get(call.path);

			call.over = old?.over ?? null;
			addCounts(call, countsOf(call, moment));
			known.delete(call.path);
		}
		const parents = new Map(newer.map((call) => [call.path, call]));
		for (const call of known.values()) {
			const [, allocated, , deviation] = countsAt(call, moment);

			addCounts(call, [moment, allocated, allocated, deviation, deviation]);
			call.parent = parents.get(call.parent.path);
			call.self = {};
			call.samples = 0;
			parents.set(call.path, call);
			newer.push(call);
		}
		return newer;
	}

	// Leaves out every moment but those that are kept.
	function thin(calls, kept) {
		for (const call of calls) {
			const over = call.over;

			call.over = null;
			kept.forEach((moment, i) => {
				const counts = countsAt({ over }, moment);

				addCounts(call, [i, ...counts.slice(1)]);
			});
		}
	}

	// What a call has by itself. A view has a key; optionally a moment and
	// another to compare with, or the key of another column to compare with.
	function own(call, view) {
		const now =
			view.moment === undefined
				? (call.self[view.key] ?? none)
				: estimateAt(call, view.key, view.moment);
		let before = none;
		let change = 0;

		if (view.since !== undefined) {
			before = estimateAt(call, view.key, view.since);
			change = changeVariance(call, view.key, view.since, view.moment);
		} else if (view.base !== undefined) {
			before = call.self[view.base] ?? none;
			change = now.variance + before.variance;
		}
		return {
			value: now.value,
			variance: now.variance,
			before: before.value,
			change,
			samples: call.samples,
			weight:
				view.width === "before"
					? before.value
					: view.width === "change"
						? Math.abs(now.value - before.value)
						: now.value,
		};
	}

	const sums = ["value", "variance", "before", "change", "samples", "weight"];

	function makeNode(call, parent) {
		return {
			name: call.name,
			library: call.library,
			file: call.file,
			recursive: call.recursive,
			parent,
			depth: parent ? parent.depth + 1 : 0,
			children: new Map(),
			value: 0,
			variance: 0,
			before: 0,
			change: 0,
			samples: 0,
			weight: 0,
		};
	}

	function addTo(node, amounts) {
		for (const key of sums)
			node[key] += amounts[key];
	}

	// A call from several lines has a file without a line.
	function commonPlace(a, b) {
		const file = (place) => place.replace(/:\d+$/, "");

		if (a === b)
			return a;
		return file(a) === file(b) ? file(a) : "";
	}

	function childOf(node, call) {
		let child = node.children.get(call.name);

		if (!child) {
			child = makeNode(call, node);
			node.children.set(call.name, child);
		}
		child.recursive ||= call.recursive;
		child.file = commonPlace(child.file, call.file);
		return child;
	}

	// The calls from a call to the root, without the root.
	function outward(call) {
		const path = [];

		for (; call.parent; call = call.parent)
			path.push(call);
		return path;
	}

	function sort(node) {
		node.children = [...node.children.values()]
			.filter((child) => child.weight > 0)
			.sort((a, b) => b.weight - a.weight || (a.name < b.name ? -1 : 1));
		node.children.forEach(sort);
	}

	// The tree of a view: from the root, or from the leaves, where the calls
	// above a leaf are those that called it.
	function build(calls, view) {
		const root = makeNode(calls[0], null);

		for (const call of calls) {
			const amounts = own(call, view);
			let path;
			let node = root;

			if (!amounts.value && !amounts.before)
				continue;
			path = outward(call);
			if (!view.inverted)
				path.reverse();
			addTo(root, amounts);
			for (const step of path) {
				node = childOf(node, step);
				addTo(node, amounts);
			}
		}
		sort(root);
		return root;
	}

	// The names from the root to a node, and the node that has them in another
	// tree, or the last of them that it has.
	function pathOf(node) {
		const names = [];

		for (; node.parent; node = node.parent)
			names.unshift(node.name);
		return names;
	}

	function follow(root, names) {
		let node = root;

		for (const name of names) {
			const next = node.children.find((child) => child.name === name);

			if (!next)
				break;
			node = next;
		}
		return node;
	}

	// Marks the nodes that a text is in; of nested ones only the outermost
	// counts.
	function search(root, text) {
		const wanted = text.toLowerCase();
		const found = { calls: 0, value: 0 };
		const look = (node, inside) => {
			const text = `${node.name} ${node.library} ${node.file}`;

			node.found =
				wanted !== "" &&
				node.parent !== null &&
				text.toLowerCase().includes(wanted);
			if (node.found)
				found.calls++;
			if (node.found && !inside)
				found.value += node.weight;
			for (const child of node.children)
				look(child, inside || node.found);
		};
		look(root, false);
		return found;
	}

	function error(variance) {
		return normal95 * Math.sqrt(variance);
	}

	// Whether a change may be chance.
	function isChance(node) {
		return Math.abs(node.value - node.before) <= error(node.change);
	}

	return { take, join, thin, build, pathOf, follow, search, error, isChance };
})();
