-- SPDX-License-Identifier: GPL-2.0
-- luajit work.lua MILLISECONDS: busy at the bottom of a recursion
local function work(seed)
	local numbers = {}
	for i = 1, 300 do
		seed = (seed * 1664525 + 1013904223) % 4294967296
		numbers[i] = seed
	end
	table.sort(numbers, function(a, b) return a < b end)
	local text = table.concat(numbers, ",")
	text:gsub("[0-4]+5", "x")
	return numbers[1] % 65536
end

local function walk(n, seed)
	if n == 0 then
		return work(seed)
	end
	local _, ret = pcall(walk, n - 1, seed)
	return ret + 1
end

local stop = os.clock() + tonumber(arg[1]) / 1000
local seed = 1
while os.clock() < stop do
	seed = walk(10, seed)
end
