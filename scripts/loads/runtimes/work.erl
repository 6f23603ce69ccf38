%% SPDX-License-Identifier: GPL-2.0
%% Erlang processes that are busy at the bottom of a recursion: something to sample.
%%
%%	erl -noinput -run work main DEPTH MILLISECONDS
-module(work).
-export([main/1, worker/2]).

main([Depth, Span]) ->
	spawn(?MODULE, worker, [list_to_integer(Depth), 1]),
	spawn(?MODULE, worker, [list_to_integer(Depth), 2]),
	timer:sleep(list_to_integer(Span)),
	halt().

worker(Depth, Seed) ->
	worker(Depth, one(Depth, Seed)).

one(0, Seed) -> work(Seed);
one(Depth, Seed) -> two(Depth - 1, Seed) + 1.

two(0, Seed) -> work(Seed);
two(Depth, Seed) -> one(Depth - 1, Seed) + 2.

numbers(0, _) -> [];
numbers(N, Seed) ->
	Next = (Seed * 1103515245 + 12345) band 16#ffffffff,
	[Next | numbers(N - 1, Next)].

work(Seed) ->
	Numbers = lists:sort(fun(A, B) -> A rem 1000 =< B rem 1000 end, numbers(300, Seed)),
	Text = iolist_to_binary(io_lib:format("~p", [Numbers])),
	erlang:md5(Text),
	_ = re:run(Text, "9+8+7", [global]),
	_ = maps:from_list([{N, N} || N <- Numbers]),
	_ = binary_to_term(term_to_binary(Numbers)),
	hd(Numbers) band 16#ffff.
