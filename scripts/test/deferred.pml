/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A model of kernel/unwind/deferred.c for spin: one task with its entry contexts; requests in task
 * context, in an interrupt, and in an NMI before or after each of its stores; and two clients, one of
 * which goes and comes back on another CPU meanwhile.  Names are those of the C code.
 *
 * A number stands for the user's registers, and so for the user stack.  Each change of them gives a
 * new one.  These properties hold:
 *
 * own    all samples with a cookie, and the stack of its record, are of the same user stack
 * known  a stack that is given at once is that of the sample
 * once   the stack of an entry context is unwound once
 * sent   what was promised to a client is sent before the task has exited, and before it runs in
 *        user mode, or there an interrupt is pending that sends it
 * first  what was promised before a close is sent with its stack before the registers change
 * gone   a client is not called after unwind_deferred_cancel() has returned
 *
 * Not in the model: memory ordering between CPUs (only the clients are shared, under SRCU), the CPUs
 * of requests, that the limit of rounds depends on time, failures to allocate, and requests by the
 * scheduler's tracepoint, which interrupt nothing.
 *
 * With -DBREAK=N, N from 1 to 10, one step of the C code is missing or in the wrong place, and one of
 * the properties does not hold.
 */
#ifndef BREAK
#define BREAK		0
#endif
#ifndef NMIS
#define NMIS		2
#endif
#ifndef IRQS
#define IRQS		1
#endif
#ifndef OPS
#define OPS		2
#endif

#define OWED		64
#define EXEC		128
#define COOKIE(c)	((c) & 63)
#define MAX_PASSES	3
#define MAX_LATE	3
#define COOKIES		12

/* struct unwind_task_info */
byte context, walked, start, refuse, nr, passes, late;
byte owed[2];
bool queued, sending;

/* the task: its user registers, and the kernel's work on the way to user mode */
byte regs = 1;
bool work_added, notify, self_interrupt, irqs_on, in_user, exited;
/* an interrupt is on top of the task; an NMI is one step */
bool in_irq;

/* the clients, and those who use them */
bool registered[2] = true;
byte stamp[2] = 1;
byte last_stamp = 1, last_cookie;
bool in_use[2] = true;
byte requests[2];
bool reading;
bool readings;

/* what the properties are about */
byte stack_of[COOKIES];
bool unwound[COOKIES];
bool promised[COOKIES * 2];
bool changed[COOKIES];		/* the registers have changed without a close before it */
bool may_call[2] = true;

byte nmis = NMIS, irqs = IRQS, ops = OPS;

#define start_holds	(start == regs)

/* Change the registers.  What was requested with the cookies up to @before was to be sent before. */
inline change_regs(before)
{
	d_step {
		if
		:: COOKIE(context) > before -> changed[COOKIE(context)] = true
		:: else
		fi;
		regs++
	}
}

inline end_context(c, ok)
{
	c = context;
	if
	:: c == 0 -> ok = true
	:: c && ((c & OWED) || (sending && BREAK != 7)) -> ok = false
	:: else ->
		atomic {
			if
			:: context == c -> context = 0; ok = true
			:: else -> ok = false
			fi
		}
	fi
}

/* sets @c to the cookie, with or without OWED */
inline open_context(c)
{
	start = regs;
	late = 0;
	d_step {
		last_cookie++;
		c = last_cookie;
		assert(c < COOKIES)
	}
	atomic {
		if
		:: context == 0 || BREAK == 6 -> context = c
		:: else -> c = context
		fi
	}
}

inline current_context(c, holds)
{
	do
	:: c = context;
		holds = start_holds;
		if
		:: COOKIE(c) == COOKIE(context) || BREAK == 5 -> break
		:: else
		fi
	od;
	if
	:: c && !(BREAK == 5 -> start_holds : holds) -> end_context(c, holds); c = 0
	:: else -> holds = true
	fi;
	if
	:: holds && c == 0 -> open_context(c)
	:: else
	fi
}

/* a sample of client @k has the cookie @c */
inline promise(k, c)
{
	d_step {
		assert(!stack_of[c] || stack_of[c] == regs);	/* own */
		stack_of[c] = regs;
		promised[c * 2 + k] = true
	}
}

inline queue_work_once(nmi, ok)
{
	atomic {
		if
		:: queued -> ok = true
		:: !queued && exited -> ok = false
		:: else ->
			ok = true;
			queued = true;
			work_added = true;
			if
			:: nmi -> self_interrupt = true
			:: else -> notify = true
			fi
		fi
	}
}

inline request(k, nmi, c, st, ok)
{
	if
	:: !in_use[k] -> skip
	:: atomic { in_use[k] -> requests[k]++ };
		st = stamp[k];
		if
		:: st == 0 || context == EXEC || refuse -> c = 0
		:: else -> current_context(c, ok); c = (ok -> COOKIE(c) : 0)
		fi;
		if
		:: c == 0 || late >= MAX_LATE || (walked == c && passes >= MAX_PASSES) -> skip
		:: else ->
			if
			:: owed[k] == st -> promise(k, c)
			:: else ->
				owed[k] = st;
				context = c | OWED;
				queue_work_once(nmi, ok);
				if
				:: ok -> promise(k, c)
				:: else
				fi
			fi
		fi;
		requests[k]--
	fi
}

/* unwind_deferred_known() */
inline known(c, n, ok)
{
	c = context & ~OWED;
	n = nr;
	ok = c && walked == c && n;
	ok = ok && start_holds;
	ok = ok && ((context & ~OWED) == c || BREAK == 10);
	assert(!ok || n == regs);	/* known */
	c = 0;
	n = 0;
	ok = false
}

active proctype nmi()
{
	byte c, st;
	bool ok;

	do
	:: atomic {
		nmis && !exited ->
		nmis--;
		known(c, st, ok);
		if
		:: true -> request(0, true, c, st, ok)
		:: true -> request(1, true, c, st, ok)
		fi;
		c = 0;
		st = 0;
		ok = false
	}
	:: !nmis || exited -> break
	od
}

active proctype irq()
{
	byte c, st;
	bool ok;

	do
	:: atomic { irqs_on && irqs && !exited -> irqs--; in_irq = true };
		if
		:: true -> known(c, st, ok)
		:: true -> request(0, false, c, st, ok)
		:: true -> request(1, false, c, st, ok)
		fi;
		atomic {
			c = 0;
			st = 0;
			ok = false;
			in_irq = false
		}
	/* the interrupt that an NMI has raised: the task looks for work */
	:: atomic { irqs_on && self_interrupt -> self_interrupt = false; notify = notify || work_added }
	:: exited || (!irqs && ops == 0 && !self_interrupt && in_user) -> break
	od
}

/* Another CPU cancels client 1 when nobody uses it any more, and registers it again. */
active proctype other_cpu()
{
	byte i;

	atomic { requests[1] == 0 -> in_use[1] = false };
	registered[1] = false;
	i = readings;
	if
	:: BREAK == 8 -> skip
	:: else -> (!reading || readings != i)	/* synchronize_srcu() */
	fi;
	stamp[1] = 0;
	d_step {
		may_call[1] = false;
		for (i : 0 .. COOKIES - 1) {
			promised[i * 2 + 1] = false
		}
		i = 0
	}
	may_call[1] = true;
	registered[1] = true;
	last_stamp++;
	stamp[1] = last_stamp;
	in_use[1] = true
}

inline deferred_walk(c)
{
	if
	:: walked == c -> skip
	:: else ->
		nr = 0;
		walked = c;
		passes = 0;
		if
		:: start_holds || BREAK == 1 ->
			d_step {
				assert(!unwound[c]);	/* once */
				unwound[c] = true
			}
			nr = regs
		:: else
		fi
	fi
}

inline call_client(k, stack, c, st)
{
	if
	:: !owed[k] -> skip
	:: else ->
		if
		:: BREAK != 4 -> atomic { st = owed[k]; owed[k] = 0 }
		:: else -> st = owed[k]
		fi;
		if
		:: registered[k] && stamp[k] == st ->
			skip;	/* the client's function begins */
			d_step {
				assert(may_call[k]);	/* gone */
				assert(!stack || !stack_of[c] || stack_of[c] == stack);	/* own */
				assert(stack || changed[c] || !promised[c * 2 + k]);	/* first */
				promised[c * 2 + k] = false
			}
		:: else
		fi;
		if
		:: BREAK == 4 -> owed[k] = 0
		:: else
		fi;
		st = 0
	fi
}

inline send_records(c, stack, st)
{
	c = context;
	if
	:: c & OWED ->
		c = COOKIE(c);
		deferred_walk(c);
		passes++;
		stack = nr;
		sending = true;
		context = c;
		atomic { reading = true; readings = !readings };
		call_client(0, stack, c, st);
		call_client(1, stack, c, st);
		reading = false;
		sending = false;
		stack = 0
	:: else
	fi;
	c = 0
}

/* unwind_deferred_work() */
inline run_work(c, stack, st)
{
	work_added = false;
	if
	:: BREAK != 3 -> queued = false
	:: else
	fi;
	send_records(c, stack, st);
	if
	:: BREAK == 3 -> queued = false
	:: else
	fi
}

inline close(n, c, stack, st, ok)
{
	do
	:: n < MAX_PASSES ->
		end_context(c, ok);
		c = 0;
		if
		:: ok -> break
		:: else -> send_records(c, stack, st); n++
		fi
	:: else -> break
	od;
	n = 0;
	ok = false
}

inline close_for_good(error, then, c, stack, st)
{
	refuse = error;
	send_records(c, stack, st);
	context = then
}

/* unwind_deferred_leave(), with interrupts off */
inline leave(c, ok)
{
	if
	:: context == 0 -> skip
	:: else ->
		end_context(c, ok);
		c = 0;
		if
		:: ok -> skip
		:: else ->
			late++;
			if
			:: BREAK != 2 -> self_interrupt = true
			:: else
			fi
		fi;
		ok = false
	fi
}

#define all_is_sent	(!(context & OWED) || (self_interrupt && work_added))

active proctype task() provided (!in_irq)
{
	byte c, stack, st, n, i;
	bool ok;

kernel_mode:
	irqs_on = true;
	do
	:: ops ->
		ops--;
		n = last_cookie;
		if
		:: true -> request(0, false, c, st, ok)
		:: true -> request(1, false, c, st, ok)
		/* a tracer changes the registers */
		:: change_regs(0)
		/* a signal or sigreturn */
		:: true -> close(i, c, stack, st, ok); change_regs(n)
		/* execve */
		:: true ->
			if
			:: BREAK != 9 -> close_for_good(1, EXEC, c, stack, st); refuse = 0
			:: else
			fi;
			change_regs(n)
		/* unwind_user_faultable() */
		:: context != EXEC ->
			current_context(c, ok);
			c = COOKIE(c);
			if
			:: ok && c -> deferred_walk(c)
			:: else
			fi
		fi;
		atomic {
			c = 0;
			st = 0;
			n = 0;
			ok = false
		}
	:: break
	od;

	/* on the way to user mode */
	do
	:: irqs_on = false;
		if
		:: notify ->
			irqs_on = true;
			notify = false;
			if
			:: work_added -> run_work(c, stack, st)
			:: else
			fi
		:: else -> break
		fi
	od;
	/* a tracepoint behind the last check */
	if
	:: ops -> ops--; request(0, false, c, st, ok); c = 0; st = 0; ok = false
	:: true -> skip
	fi;
	leave(c, ok);
	in_user = true;

	/* user mode: an NMI or a late interrupt may come at any time */
	if
	:: atomic {
		self_interrupt ->
		assert(all_is_sent);	/* sent */
		self_interrupt = false;
		notify = notify || work_added;
		in_user = false;
		goto kernel_mode
	}
	:: atomic {
		ops ->
		ops--;
		assert(all_is_sent);	/* sent */
		change_regs(0);
		in_user = false;
		goto kernel_mode
	}
	:: atomic { !ops && !self_interrupt -> assert(all_is_sent); in_user = false }
	fi;

	/* exit */
	irqs_on = true;
	send_records(c, stack, st);
	close_for_good(2, 0, c, stack, st);
	d_step {
		exited = true;
		for (n : 1 .. COOKIES - 1) {
			assert(!promised[n * 2]);	/* sent */
			assert(!promised[n * 2 + 1] || !registered[1])	/* or is being cancelled */
		}
	}
}
