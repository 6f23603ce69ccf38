// SPDX-License-Identifier: GPL-2.0
// work MILLISECONDS: busy at the bottom of a chain of calls
import core.time, std.algorithm, std.conv, std.digest.sha, std.format;

__gshared uint seed;
__gshared MonoTime stop;

extern (C) void busy()
{
	auto numbers = new uint[300];

	foreach (ref n; numbers)
		n = seed = seed * 1103515245 + 12345;
	numbers.sort!((a, b) => a % 1000 < b % 1000);
	seed += sha256Of(format("%(%s,%)", numbers))[0];
	try
		seed += to!int("none");
	catch (ConvException)
		seed++;
}

extern (C) void two()
{
	while (MonoTime.currTime < stop)
		busy();
}

extern (C) void one()
{
	two();
}

void main(string[] args)
{
	stop = MonoTime.currTime + msecs(args[1].to!int);
	one();
}
