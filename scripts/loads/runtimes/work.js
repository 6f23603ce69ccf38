// SPDX-License-Identifier: GPL-2.0
// node work.js MILLISECONDS: busy at the bottom of a recursion
const crypto = require('crypto');
const end = Date.now() + Number(process.argv[2]);

function walk(n, seed) {
	return n ? [n - 1].map((m) => walk(m, seed) + 1)[0] : work(seed);
}

function work(seed) {
	const numbers = [];
	for (let i = 0; i < 300; i++)
		numbers.push(seed = (Math.imul(seed, 1103515245) + 12345) >>> 0);
	numbers.sort((a, b) => a - b);
	const text = JSON.stringify(numbers);
	text.replace(/([0-4]+)5/g, '<$1>');
	crypto.createHash('sha256').update(text).digest();
	return JSON.parse(text)[0];
}

for (let seed = 1; Date.now() < end;)
	seed = walk(10, seed);
