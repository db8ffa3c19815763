/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Calls of Python code in stacks.
 *
 * Where a process has CPython 3.8 to 3.14 in it, as its program or a library,
 * the frame of the evaluator in a native stack stands for calls of Python
 * functions, whose frames are in a list of the thread's. They take the place of
 * the evaluator's frame, each with its function, file and line.
 *
 * The list is read as it is, without the interpreter's lock and without a call
 * into the interpreter but for PyGILState_GetThisThreadState(), which reads a
 * value of the thread's. It is this thread's own and stands still meanwhile;
 * each page is checked before it is read all the same, objects have to have
 * their types, and all loops are bounded. What does not fit leaves the native
 * frame.
 *
 *	python-find.c	finds the interpreter
 *	python-layout.c	offsets in its structures, by version
 *	python-frames.c	reads the list, and merges it with the native stack
 *	python-calls.c	entries of calls in the stats file
 *	python-lines.c	from instructions to lines
 */
#ifndef KF_SAMPLE_PYTHON_H
#define KF_SAMPLE_PYTHON_H

#include "sample/internal.h"

/*
 * Offsets in the interpreter's structures; KF_PYTHON_NO: there is no such
 * field. A list of frames begins in the thread's state or in the newest struct
 * _cframe, which is on the native stack, one for each call of the evaluator
 * (3.10 and 3.11). From 3.12 on each such call has a frame there that owns no
 * code.
 */
#define KF_PYTHON_NO UINT16_MAX

struct kf_python_layout {
	uint16_t state_frame;	/* of the thread's state: the newest frame */
	uint16_t state_cframe;	/* ... or the newest struct _cframe */
	uint16_t cframe_frame;	/* of that one: the newest frame */
	uint16_t cframe_before; /* ... and the struct _cframe before it */
	uint16_t frame_code;
	uint16_t frame_before; /* the caller's frame */
	uint16_t frame_at;     /* the instruction */
	uint16_t frame_entry;  /* whether the evaluator was called for it */
	uint16_t frame_owner;
	uint16_t code_version; /* a number that no other code object had */
	uint16_t code_line;    /* the first one */
	uint16_t code_file;
	uint16_t code_name;
	uint16_t code_lines;  /* the table */
	uint16_t code_begin;  /* the first instruction */
	uint16_t text_ascii;  /* of a string: the characters */
	uint16_t text_others; /* ... that are not ASCII */
};

struct kf_python {
	uint16_t version; /* 0x030b for 3.11 */
	bool has_lines;	  /* instructions are where the code says */
	struct kf_python_layout at;
	void *(*state)(void);	 /* PyGILState_GetThisThreadState() */
	uintptr_t code_type;	 /* &PyCode_Type */
	uintptr_t unicode_type;	 /* &PyUnicode_Type */
	uintptr_t evaluator;	 /* _PyEval_EvalFrameDefault() */
	uintptr_t evaluator_end; /* without parts that a compiler put apart */
};

/*
 * Values of kf_python_state; from 2 on: found after so many unloads less 2.
 * KF_PYTHON_AGAIN: to be looked for in objects that are known, too.
 */
#define KF_PYTHON_NONE 0
#define KF_PYTHON_AGAIN 1
#define KF_PYTHON_STAYS UINT64_MAX

/* The interpreter that was found; used where kf_python_is_on(). */
extern struct kf_python kf_python __kf_hidden;
extern uint64_t kf_python_state __kf_hidden;   /* atomic */
extern uint64_t kf_python_unloads __kf_hidden; /* calls of dlclose(); atomic */

/* Whether there is an interpreter. */
static inline bool kf_python_is_on(void)
{
	uint64_t state = __atomic_load_n(&kf_python_state, __ATOMIC_SEQ_CST);

	return unlikely(state > KF_PYTHON_AGAIN) &&
	       (state == KF_PYTHON_STAYS ||
		state - 2 ==
			__atomic_load_n(&kf_python_unloads, __ATOMIC_SEQ_CST));
}

/* Whether an interpreter is to be looked for in objects that are known. */
static inline bool kf_python_is_gone(void)
{
	return kf_load(&kf_python_state) != KF_PYTHON_NONE &&
	       !kf_python_is_on();
}

/*
 * What is known in one walk of a thread: pages that can be read, and the
 * contents of code objects, none of which is freed meanwhile.
 */
#define KF_PYTHON_PAGES 256
#define KF_PYTHON_SHIFT (64 - 8) /* of a hash of 64 bits */
#define KF_PYTHON_CODES 32
struct kf_python_reader {
	uintptr_t last;			 /* the page that was read last */
	uintptr_t page[KF_PYTHON_PAGES]; /* can be read; 0: none */
	uintptr_t code[KF_PYTHON_CODES];
	uint64_t contents[KF_PYTHON_CODES];
};

/**
 * kf_python_read() - read memory of the interpreter
 * kf_python_can_read() - check memory of the interpreter
 * @r:		the reader; zero at first
 * @at:		the address
 * @to:		out: the bytes
 * @size:	number of bytes, not 0
 *
 * Context: any thread that may be asked by system calls.
 * Return: whether all of it can be read.
 */
bool kf_python_can_read(struct kf_python_reader *r, uintptr_t at, size_t size);
bool kf_python_read(struct kf_python_reader *r, uintptr_t at, void *to,
		    size_t size) __must_check;

/**
 * kf_python_look() - look for an interpreter in an object
 * @base:	address of its first mapping
 * @stays:	whether it is never unmapped
 * @quiet:	whether no dlclose() was going on before the mappings were read
 * @unloads:	kf_python_unloads before that
 *
 * One that is still being loaded is not used, as its code must not be called;
 * where that cannot be told, none that may be unmapped is.
 *
 * Context: with the right to read the mappings.
 * Return: whether to look once more later.
 */
bool kf_python_look(uint64_t base, bool stays, bool quiet, uint64_t unloads);

/**
 * kf_python_unload() - an object may be unmapped
 *
 * An interpreter in an object that can be is looked for anew.
 *
 * Context: any thread, before the call, which was counted.
 */
void kf_python_unload(void);

/**
 * kf_python_layout_of() - the layout of a version
 * @version:	as in struct kf_python
 * @at:		out: the layout
 *
 * Context: any; pure.
 * Return: whether it is known.
 */
bool kf_python_layout_of(uint16_t version, struct kf_python_layout *at);

/**
 * kf_python_layout_read() - the layout that an interpreter describes itself
 * @block:	its struct _Py_DebugOffsets
 * @size:	bytes of it that were read
 * @version:	as in struct kf_python
 * @at:		out: the layout
 * @threads:	out: whether it runs threads without a common lock
 *
 * Context: any; pure.
 * Return: whether it is one of the version, and all values are sound.
 */
bool kf_python_layout_read(const void *block, size_t size, uint16_t version,
			   struct kf_python_layout *at, bool *threads);

/**
 * kf_python_merge() - put calls of Python into a native stack
 * @stack:	in and out: the stack
 * @sp:		for each of its frames the address where the stack of its
 *		function begins, and where that of the last one ends
 * @room:	for a stack and for a list of calls
 * @calls:	likewise, KF_STATS_STACK_MAX
 * @most:	the most frames
 *
 * Context: the thread whose stack it is; kf_python_is_on().
 */
void kf_python_merge(struct kf_walked *stack, uint64_t *sp,
		     struct kf_walked *room, uint64_t *calls, uint32_t most);

/**
 * kf_python_call() - find or make the entry of a call
 * @r:		the reader
 * @code:	address of the code object
 * @at:		the instruction: as the frame has it
 *
 * Context: as kf_python_merge().
 * Return: the word for a stack; 0: it is no call, or the table is full.
 */
uint64_t kf_python_call(struct kf_python_reader *r, uintptr_t code,
			uint64_t at) __must_check;

/**
 * kf_python_line() - the line of an instruction
 * @version:	as in struct kf_python
 * @table:	the code's table of lines
 * @size:	bytes of it
 * @first:	the code's first line
 * @at:		of the instruction, in bytes
 *
 * Context: any; pure. Any table will do.
 * Return: the line; 0: it has none.
 */
uint32_t kf_python_line(uint16_t version, const uint8_t *table, size_t size,
			int32_t first, uint32_t at);

#endif
