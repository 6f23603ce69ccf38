// SPDX-License-Identifier: GPL-2.0
/*
 * A load to sample: threads that run C++, with the library's templates and code, virtual
 * calls, exceptions that unwind a few frames, and destructors.
 *
 *	stack-work-c++ THREADS MILLISECONDS
 *
 * A thread goes on until it has done LEAST rounds, so that a slow machine has as much to sample.
 */
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <regex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

using Clock = std::chrono::steady_clock;

static const unsigned int LEAST = 400;

struct Job {
	virtual ~Job() = default;
	virtual unsigned int run(unsigned int seed) = 0;
};

struct Sort : Job {
	unsigned int run(unsigned int seed) override
	{
		std::vector<std::string> words;

		for (int i = 0; i < 300; i++)
			words.push_back(std::to_string(seed = seed * 1103515245 + 12345));
		std::sort(words.begin(), words.end(), [](const auto &a, const auto &b) {
			return std::lexicographical_compare(a.rbegin(), a.rend(), b.rbegin(),
							    b.rend());
		});
		return seed + words[0].size();
	}
};

struct Match : Job {
	unsigned int run(unsigned int seed) override
	{
		static const std::regex numbers("([0-9]+)-([0-9]*)7+");
		std::ostringstream text;
		std::smatch match;

		for (int i = 0; i < 20; i++)
			text << (seed += i * 7919) << '-';
		const std::string all = text.str();
		return std::regex_search(all, match, numbers) ? seed + match.length() : seed;
	}
};

struct Throw : Job {
	unsigned int fall(int depth, unsigned int seed)
	{
		std::map<unsigned int, std::unique_ptr<int>> held;

		held[seed] = std::make_unique<int>(depth);
		if (!depth)
			throw std::runtime_error(std::to_string(seed));
		return fall(depth - 1, seed * 3) + *held[seed];
	}

	unsigned int run(unsigned int seed) override
	{
		try {
			return fall(8, seed);
		} catch (const std::exception &e) {
			return seed + std::stoul(e.what()) % 1000;
		}
	}
};

static void thread(unsigned int seed, Clock::time_point end)
{
	std::vector<std::unique_ptr<Job>> jobs;
	std::function<unsigned int(unsigned int, unsigned int)> call =
		[&](unsigned int depth, unsigned int i) -> unsigned int {
			unsigned int ret = depth ? call(depth - 1, i) :
						   jobs[i % jobs.size()]->run(seed);

			/* prevent a tail call, so that the frame remains */
			asm volatile("" : "+r" (ret));
			return ret;
		};

	/* throw an exception only in some rounds */
	for (int i = 0; i < 6; i++) {
		jobs.push_back(std::make_unique<Sort>());
		jobs.push_back(std::make_unique<Match>());
	}
	jobs.push_back(std::make_unique<Throw>());
	for (unsigned int i = 0; i < LEAST || Clock::now() < end; i++)
		seed = call(5, i);
}

int main(int argc, char **argv)
{
	int nr = argc == 3 ? atoi(argv[1]) : 0;
	std::vector<std::thread> threads;

	if (nr <= 0) {
		fprintf(stderr, "usage: stack-work-c++ THREADS MILLISECONDS\n");
		return 2;
	}
	auto end = Clock::now() + std::chrono::milliseconds(atoi(argv[2]));
	for (int i = 0; i < nr; i++)
		threads.emplace_back(thread, i + 1, end);
	for (auto &t : threads)
		t.join();
	return 0;
}
