/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * stats/stats.c: the start of the counters, and their publication.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sys/vm.h"
#include "tests/unit/stats/support.h"
#include "tests/unit/unit.h"

START_TEST(counters_have_memory_before_there_is_a_file)
{
	support_begin();
	kf_word_add(KF_WORD_mmaps, 3);
	UNIT_REQUIRE(kf_word_get(KF_WORD_mmaps) == 3);
	UNIT_REQUIRE(!kf_stats_path());
	UNIT_REQUIRE(kf_stats_error() == 0);
	UNIT_REQUIRE((uintptr_t)kf_stats_words % KF_CACHE_LINE == 0);
}
END_TEST

START_TEST(what_was_counted_before_is_in_the_file)
{
	struct kf_stats_conf conf;
	struct kf_slot *slot;
	struct kf_stats_header *h;
	char *bytes;

	support_begin();
	slot = kf_stats_slot_take();
	slot->class[3].mallocs = 23;
	kf_word_set(KF_WORD_mapped, 4096);
	conf = support_conf();
	kf_stats_publish(&conf, false);

	bytes = support_check(kf_stats_path());
	h = (void *)bytes;
	slot = (void *)(bytes + h->slots.offset);
	UNIT_REQUIRE(slot->class[3].mallocs == 23);
	UNIT_REQUIRE(slot->state == KF_SLOT_IN_USE);
	UNIT_REQUIRE(
		((uint64_t *)(void *)(bytes +
				      h->words.offset))[1 + KF_WORD_mapped] ==
		4096);
	free(bytes);
}
END_TEST

START_TEST(what_is_counted_later_is_in_the_file_under_the_same_pointers)
{
	struct kf_stats_conf conf;
	struct kf_stats_words *words;
	struct kf_slot *slot;
	char *bytes;

	support_begin();
	slot = kf_stats_slot_take();
	words = kf_stats_words;
	conf = support_conf();
	kf_stats_publish(&conf, false);
	UNIT_REQUIRE(words == kf_stats_words);
	slot->scalar[KF_SLOT_failed] = 7;
	kf_word_add(KF_WORD_splits, 5);

	bytes = support_check(kf_stats_path());
	slot = (void *)(bytes + KF_AT_SLOTS);
	words = (void *)(bytes + KF_AT_WORDS);
	UNIT_REQUIRE(slot->scalar[KF_SLOT_failed] == 7);
	UNIT_REQUIRE(words->word[KF_WORD_splits] == 5);
	free(bytes);
}
END_TEST

START_TEST(file_of_one_thread_is_small)
{
	struct stat st;

	support_publish();
	UNIT_REQUIRE(!stat(kf_stats_path(), &st));
	UNIT_REQUIRE(st.st_size >= 16 * 1024);
	UNIT_REQUIRE(st.st_size <= KF_MAX(48 * 1024, getpagesize()));
	/* one of no thread, the first thread's and its 256 events' */
	UNIT_REQUIRE(kf_stats.nr_slots >= 6);
}
END_TEST

START_TEST(file_is_ours_alone_to_write_and_its_groups_to_read)
{
	struct stat st;

	umask(0);
	support_publish();
	UNIT_REQUIRE(!stat(kf_stats_path(), &st));
	UNIT_REQUIRE(S_ISREG(st.st_mode));
	UNIT_REQUIRE((st.st_mode & 07777) == 0640);
	UNIT_REQUIRE(st.st_uid == geteuid());
}
END_TEST

START_TEST(group_of_a_set_group_id_directory_reads_whatever_the_umask)
{
	struct kf_stats_conf conf;
	struct stat st;

	support_begin();
	UNIT_REQUIRE(!chmod(support_dir, 03773));
	umask(077);
	conf = support_conf();
	kf_stats_publish(&conf, false);
	UNIT_REQUIRE(kf_stats_path());
	UNIT_REQUIRE(!stat(kf_stats_path(), &st));
	UNIT_REQUIRE((st.st_mode & 07777) == 0640);
}
END_TEST

START_TEST(every_counter_is_described_once)
{
	const struct kf_stats_header *h;
	const struct kf_stats_desc *d;
	char *bytes;

	support_publish();
	bytes = support_check(kf_stats_path());
	h = (const void *)bytes;
	d = (const void *)(bytes + h->descs.offset);
	UNIT_REQUIRE(h->descs.nr == KF_NR_SLOT_STATS + KF_NR_WORD_STATS);
	UNIT_REQUIRE(h->words.nr == 1 + KF_NR_WORD_STATS);
	for (uint32_t i = 0; i < h->descs.nr; i++) {
		bool in_slot = i < KF_NR_SLOT_STATS;

		UNIT_REQUIRE(d[i].scope ==
			     (in_slot ? KF_SCOPE_SLOT : KF_SCOPE_WORD));
		UNIT_REQUIRE(d[i].index ==
			     (in_slot ? i : i - KF_NR_SLOT_STATS));
		UNIT_REQUIRE(memchr(d[i].name, 0, sizeof(d[i].name)));
		UNIT_REQUIRE(memchr(d[i].metric, 0, sizeof(d[i].metric)));
		UNIT_REQUIRE(memchr(d[i].labels, 0, sizeof(d[i].labels)));
		UNIT_REQUIRE(memchr(d[i].help, 0, sizeof(d[i].help)));
		UNIT_REQUIRE(d[i].name[0] && d[i].help[0]);
	}
	free(bytes);
}
END_TEST

START_TEST(size_classes_are_the_allocators)
{
	const struct kf_stats_class *class;
	char *bytes;

	support_publish();
	bytes = support_check(kf_stats_path());
	class = (const void *)(bytes + KF_AT_CLASSES);
	for (size_t i = 0; i < KF_STATS_NR_CLASSES; i++) {
		UNIT_REQUIRE(class[i].bytes == 16 * i);
		UNIT_REQUIRE(class[i].inherited == 0);
	}
	free(bytes);
}
END_TEST

START_TEST(nothing_is_made_when_not_enabled)
{
	struct kf_stats_conf conf;

	support_begin();
	conf = support_conf();
	conf.enabled = false;
	kf_stats_publish(&conf, false);
	UNIT_REQUIRE(!kf_stats_path());
	UNIT_REQUIRE(kf_stats_error() == 0);
	UNIT_REQUIRE(support_nr_files(support_dir) == 0);
}
END_TEST

START_TEST(no_descriptor_stays_open)
{
	int before, after;

	before = support_nr_files("/proc/self/fd");
	support_publish();
	for (int i = 0; i < 20; i++)
		kf_stats_slot_take();
	after = support_nr_files("/proc/self/fd");
	UNIT_REQUIRE(before == after);
}
END_TEST

START_TEST(errno_is_kept)
{
	struct kf_stats_conf conf;
	struct kf_slot *slot;

	support_begin();
	conf = support_conf();
	conf.dir = "/nonexistent";
	errno = 1234;
	kf_stats_publish(&conf, false);
	UNIT_REQUIRE(errno == 1234);
	if (kf_stats_path())
		unlink(kf_stats_path());
	errno = 1234;
	slot = kf_stats_slot_take();
	kf_stats_slot_label(slot, KF_SLOT_IN_USE);
	kf_stats_fork_child();
	UNIT_REQUIRE(errno == 1234);
}
END_TEST

/* As `ulimit -v` leaves it: address space enough to run, not to be lavish. */
START_TEST(small_address_space_gets_few_slots_reserved)
{
	struct rlimit limit, old;
	void *room;

	UNIT_REQUIRE(!getrlimit(RLIMIT_AS, &old));
	limit = old;
	limit.rlim_cur = 256 * KF_MIB;
	UNIT_REQUIRE(!setrlimit(RLIMIT_AS, &limit));
	/* A sanitizer's shadow alone is larger than the limit. */
	room = kf_vm_reserve(KF_MIB, kf_vm_page());
	if (room) {
		kf_vm_drop(room, KF_MIB);
		support_publish();
	}
	UNIT_REQUIRE(!setrlimit(RLIMIT_AS, &old));
	if (!room)
		return;
	UNIT_REQUIRE(kf_stats.max_slots < KF_STATS_MAX_SLOTS);
	UNIT_REQUIRE(kf_stats.max_slots >= 4);
	free(support_check(kf_stats_path()));
}
END_TEST

START_TEST(no_address_space_at_all_leaves_one_slot)
{
	struct rlimit limit = {4096, 4096};
	struct rlimit old;
	struct kf_slot *slot, *other;

	UNIT_REQUIRE(!getrlimit(RLIMIT_AS, &old));
	limit.rlim_max = old.rlim_max;
	UNIT_REQUIRE(!setrlimit(RLIMIT_AS, &limit));
	kf_stats_init();
	UNIT_REQUIRE(!setrlimit(RLIMIT_AS, &old));
	UNIT_REQUIRE(kf_stats.in_bss);
	kf_word_add(KF_WORD_mmaps, 1);
	slot = kf_stats_slot_take();
	other = kf_stats_slot_take();
	slot->class[1].mallocs++;
	other->class[1].mallocs++;
	UNIT_REQUIRE(slot != other);
	UNIT_REQUIRE(kf_word_get(KF_WORD_lost_slots) == 1);
	kf_stats_fork_child();
	UNIT_REQUIRE(slot->class[1].mallocs == 0);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		counters_have_memory_before_there_is_a_file,
		what_was_counted_before_is_in_the_file,
		what_is_counted_later_is_in_the_file_under_the_same_pointers,
		file_of_one_thread_is_small,
		file_is_ours_alone_to_write_and_its_groups_to_read,
		group_of_a_set_group_id_directory_reads_whatever_the_umask,
		every_counter_is_described_once,
		size_classes_are_the_allocators,
		nothing_is_made_when_not_enabled,
		no_descriptor_stays_open,
		errno_is_kept,
		small_address_space_gets_few_slots_reserved,
		no_address_space_at_all_leaves_one_slot,
	};

	return unit_run("stats/stats", tests, KF_ARRAY_SIZE(tests));
}
