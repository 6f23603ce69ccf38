// SPDX-License-Identifier: GPL-2.0
// mono work.exe MILLISECONDS: busy at the bottom of a recursion
using System;
using System.Text;

class Work {
	static int Walk(int n, int seed)
	{
		return n > 0 ? Walk(n - 1, seed) + 1 : Busy(seed);
	}

	static int Busy(int seed)
	{
		int[] numbers = new int[300];
		StringBuilder text = new StringBuilder();

		for (int i = 0; i < numbers.Length; i++)
			numbers[i] = seed = seed * 1103515245 + 12345;
		Array.Sort(numbers, (a, b) => a.CompareTo(b));
		foreach (int number in numbers)
			text.Append(number / 7.0).Append(',');
		return text.ToString().Split(',').Length + numbers[0];
	}

	static void Main(string[] args)
	{
		DateTime stop = DateTime.Now.AddMilliseconds(int.Parse(args[0]));
		int seed = 1;

		while (DateTime.Now < stop)
			seed = Walk(10, seed);
	}
}
