\\ SPDX-License-Identifier: GPL-2.0
\\ gp -q work.gp, with the milliseconds in SPAN: busy at the bottom of a recursion
work(seed) = factor(seed + 10^30); vecsum(vecsort(vector(300, i, (seed * i^7) % 10007)));
walk(n, seed) = if(n, walk(n - 1, seed) + 1, work(seed));
stop = getwalltime() + eval(getenv("SPAN"));
seed = 1;
while(getwalltime() < stop, seed = walk(10, seed));
quit
