// SPDX-License-Identifier: GPL-2.0
/*
 * Java threads that are busy at the bottom of a recursion of known depth: something to
 * sample.
 *
 *	java Work DEPTH MILLISECONDS
 *
 * Each thread, named "work", calls run(), then one(), two() and three() in turn, DEPTH
 * functions in all, then work(). The three return values of different types, and one call goes
 * through an interface. The interpreter has its own return address for each of these kinds of
 * call, so frames of the interpreter can also be distinguished by return address. For the same
 * reason every function that work() calls returns either nothing or an object.
 */
import java.io.FileInputStream;
import java.security.MessageDigest;
import java.util.Arrays;
import java.util.Comparator;

interface Third {
	double three(int depth) throws Exception;
}

public class Work implements Runnable, Third, Comparator<Integer> {
	static volatile boolean stop;
	static int depth;

	final Third third = this;
	final Integer[] numbers = new Integer[200];
	final byte[] bytes = new byte[4096];
	MessageDigest digest;
	FileInputStream zeros;
	Object kept;
	int seed = 1;

	public int compare(Integer a, Integer b) {
		return a < b ? -1 : a > b ? 1 : 0;
	}

	int one(int depth) throws Exception {
		if (depth == 0) {
			work();
			return seed;
		}
		return (int)two(depth - 1) + 1;
	}

	long two(int depth) throws Exception {
		if (depth == 0) {
			work();
			return seed;
		}
		return (long)third.three(depth - 1) + 1;
	}

	public double three(int depth) throws Exception {
		if (depth == 0) {
			work();
			return seed;
		}
		return one(depth - 1) + 1;
	}

	void sort() {
		for (int i = 0; i < numbers.length; i++)
			numbers[i] = seed = seed * 1103515245 + 12345;
		Arrays.sort(numbers, this);
	}

	void hash() {
		kept = digest.digest(bytes);
	}

	void copy() {
		for (int i = 0; i < 20; i++)
			System.arraycopy(bytes, i, bytes, i + 1, 2000);
		kept = new String(bytes, 0, 500) + seed;
	}

	void read() throws Exception {
		zeros.read(bytes);
	}

	void work() throws Exception {
		sort();
		hash();
		copy();
		read();
	}

	public void run() {
		try {
			while (!stop)
				one(depth - 1);
		} catch (Exception e) {
			e.printStackTrace();
			System.exit(1);
		}
	}

	public static void main(String[] args) throws Exception {
		Thread[] threads = new Thread[2];

		depth = Integer.parseInt(args[0]);
		for (int i = 0; i < threads.length; i++) {
			Work work = new Work();

			work.digest = MessageDigest.getInstance("SHA-256");
			work.zeros = new FileInputStream("/dev/zero");
			// load here the classes that are otherwise loaded at their first use
			work.one(2);
			threads[i] = new Thread(work, "work");
		}
		for (Thread thread : threads)
			thread.start();
		Thread.sleep(Integer.parseInt(args[1]));
		stop = true;
		for (Thread thread : threads)
			thread.join();
	}
}
