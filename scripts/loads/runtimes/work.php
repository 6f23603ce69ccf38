<?php
// SPDX-License-Identifier: GPL-2.0
// php work.php MILLISECONDS: busy at the bottom of a recursion

function walk($n, $seed)
{
	return $n ? array_map(fn($m) => walk($m, $seed) + 1, [$n - 1])[0] : work($seed);
}

function work($seed)
{
	$numbers = [];
	for ($i = 0; $i < 300; $i++)
		$numbers[] = $seed = ($seed * 1103515245 + 12345) & 0xffffffff;
	usort($numbers, fn($a, $b) => $a <=> $b);
	$text = json_encode($numbers);
	hash('sha256', preg_replace('/[0-4]+5/', 'x', $text));
	return json_decode($text)[0];
}

$stop = microtime(true) + $argv[1] / 1000;
for ($seed = 1; microtime(true) < $stop;)
	$seed = walk(10, $seed) & 0xffff;
