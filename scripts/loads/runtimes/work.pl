% SPDX-License-Identifier: GPL-2.0
% swipl work.pl MILLISECONDS: busy at the bottom of a recursion
:- initialization(main, main).

numbers(0, _, []) :- !.
numbers(N, Seed, [Next | Rest]) :-
	Next is (Seed * 1103515245 + 12345) /\ 0xffffffff,
	M is N - 1,
	numbers(M, Next, Rest).

work(Seed, Sum) :-
	numbers(300, Seed, Numbers),
	msort(Numbers, Sorted),
	atomic_list_concat(Sorted, ',', Text),
	split_string(Text, ",", "", Parts),
	findall(N, (member(Part, Parts), number_string(N, Part)), Back),
	sumlist(Back, Sum).

walk(0, Seed, Sum) :- !, work(Seed, Sum).
walk(N, Seed, Sum) :- M is N - 1, forall(walk(M, Seed, _), true), Sum is Seed + N.

busy(Stop, _) :- get_time(Now), Now >= Stop, !.
busy(Stop, Seed) :- walk(3, Seed, Sum), busy(Stop, Sum).

main([Span]) :-
	atom_number(Span, Ms),
	get_time(Now),
	Stop is Now + Ms / 1000,
	busy(Stop, 1).
