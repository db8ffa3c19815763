/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * konfiscator top on a terminal, by ncurses: the terminal, its signals, and the
 * loop that waits for keys and snapshots.
 *
 * Signals are delivered only while the program waits, so that the terminal is
 * never left in the middle of a change. A fatal signal ends the program after
 * the terminal was restored.
 */
#include "config.h"

#include "cli/screen/screen.h"

#include <curses.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#define ESCAPE_MS 25

static volatile sig_atomic_t screen_caught;

static const int screen_ending[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

static void screen_on_signal(int sig)
{
	screen_caught = sig;
}

static uint64_t screen_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void screen_look(struct kf_screen *s)
{
	s->next_ns = screen_now_ns() + (uint64_t)(s->top->interval * 1e9);
	if (s->paused)
		return;
	s->status = kf_top_look(s->top);
	s->done = s->status != 0;
	if (!s->done)
		kf_screen_make(s);
}

/* Returns whether the terminal has gone. */
static bool wait_key(const struct kf_screen *s, const sigset_t *open)
{
	struct pollfd in = {.fd = 0, .events = POLLIN};
	uint64_t now = screen_now_ns(), left = 0;
	struct timespec ts;

	if (s->next_ns > now)
		left = s->next_ns - now;
	ts.tv_sec = (time_t)(left / 1000000000);
	ts.tv_nsec = (long)(left % 1000000000);
	if (ppoll(&in, 1, &ts, open) < 0)
		return errno != EINTR;
	return in.revents & (POLLHUP | POLLERR | POLLNVAL);
}

static void screen_loop(struct kf_screen *s, const sigset_t *open)
{
	int key;

	kf_screen_make(s);
	s->next_ns = screen_now_ns() + (uint64_t)(s->top->interval * 1e9);
	while (!s->done && !screen_caught) {
		kf_screen_draw(s);
		if (wait_key(s, open))
			break;
		while (!s->done && (key = getch()) != ERR)
			kf_screen_take_key(s, key);
		if (!s->done && screen_now_ns() >= s->next_ns)
			screen_look(s);
	}
	kf_table_release(&s->table);
	free(s->rows);
}

static SCREEN *screen_begin(void)
{
	SCREEN *terminal = newterm(NULL, stdout, stdin);

	if (!terminal)
		return NULL;
	cbreak();
	noecho();
	nonl();
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	set_escdelay(ESCAPE_MS);
	curs_set(0);
	mouseinterval(0);
	mousemask(BUTTON1_PRESSED | BUTTON4_PRESSED | BUTTON5_PRESSED, NULL);
	if (has_colors()) {
		start_color();
		use_default_colors();
		init_pair(KF_MARK_WARN, COLOR_YELLOW, -1);
		init_pair(KF_MARK_BAD, COLOR_RED, -1);
	}
	return terminal;
}

/* Replaces the handlers of ncurses, which exit at any time. */
static void catch_signals(sigset_t *open)
{
	struct sigaction act = {.sa_handler = screen_on_signal};
	sigset_t shut;

	sigemptyset(&shut);
	sigaddset(&shut, SIGWINCH);
	for (size_t i = 0; i < KF_ARRAY_SIZE(screen_ending); i++) {
		sigaddset(&shut, screen_ending[i]);
		sigaction(screen_ending[i], &act, NULL);
	}
	sigprocmask(SIG_BLOCK, &shut, open);
}

/* Ends with the default action of the signal, for the exit status. */
static void end_by(int sig, const sigset_t *open)
{
	signal(sig, SIG_DFL);
	raise(sig);
	sigprocmask(SIG_SETMASK, open, NULL);
}

/* Restores the terminal if the program exits, for example out of memory. */
static void screen_restore(void)
{
	if (!isendwin())
		endwin();
}

int kf_top_screen(struct kf_top *t)
{
	struct kf_screen s = {.top = t};
	SCREEN *terminal = screen_begin();
	sigset_t open;

	if (!terminal) {
		kf_error("top: unknown terminal type '%s': set TERM, or print "
			 "a table with --batch=1",
			 getenv("TERM") ? getenv("TERM") : "");
		return KF_EXIT_FAILED;
	}
	atexit(screen_restore);
	catch_signals(&open);
	screen_loop(&s, &open);
	endwin();
	if (screen_caught)
		end_by(screen_caught, &open);
	return s.status;
}
