/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * reader/function-name.c: template arguments and wrappers of malloc.
 */
#include "config.h"

#include "reader/function-name.h"
#include "tests/unit/unit.h"

#include <stdlib.h>
#include <string.h>

static const char *folded(const char *name)
{
	static char *last;

	free(last);
	last = kf_function_fold(name, "-");
	return last;
}

START_TEST(arguments_of_templates_are_folded)
{
	ck_assert_str_eq(folded("std::vector<int, std::allocator<int> >::at"),
			 "std::vector<->::at");
	ck_assert_str_eq(folded("f<>(std::map<a, b<c> > const&, d<e>)"),
			 "f<->(std::map<-> const&, d<->)");
	ck_assert_str_eq(folded("std::function<void (std::vector<int>)>::f"),
			 "std::function<->::f");
	ck_assert_str_eq(folded("a<(b)(1 > 2), (c<d)>::e"), "a<->::e");
	ck_assert_str_eq(folded("a<decltype (b->c)>::d"), "a<->::d");
	ck_assert_str_eq(folded("A<B>::operator C<D>()"),
			 "A<->::operator C<->()");
}
END_TEST

START_TEST(operators_keep_their_names)
{
	ck_assert_str_eq(folded("operator<"), "operator<");
	ck_assert_str_eq(folded("operator<< <a>(b<c>&)"),
			 "operator<< <->(b<->&)");
	ck_assert_str_eq(folded("a<b>::operator->"), "a<->::operator->");
	ck_assert_str_eq(folded("operator<=>(a<b>)"), "operator<=>(a<->)");
	ck_assert_str_eq(folded("a<&b::operator> >::c"), "a<->::c");
	ck_assert_str_eq(folded("a::operator()<b>"), "a::operator()<->");
	ck_assert_str_eq(folded("my_operator<b>"), "my_operator<->");
}
END_TEST

START_TEST(other_names_stay)
{
	ck_assert_str_eq(folded(""), "");
	ck_assert_str_eq(folded("main"), "main");
	ck_assert_str_eq(folded("<module>"), "<module>");
	ck_assert_str_eq(folded("Main.<init>"), "Main.<init>");
	ck_assert_str_eq(folded("<a::Vec<T> as b::Drop>::drop"),
			 "<a::Vec<-> as b::Drop>::drop");
	ck_assert_str_eq(folded("cut<off"), "cut<off");
	ck_assert_str_eq(folded("a < b < c"), "a < b < c");
}
END_TEST

START_TEST(deep_brackets_do_no_harm)
{
	char name[4096];

	for (size_t i = 0; i + 1 < sizeof(name); i++)
		name[i] = i % 2 ? '<' : 'a';
	name[sizeof(name) - 1] = '\0';
	ck_assert_str_eq(folded(name), name);
}
END_TEST

START_TEST(wrappers_are_known_by_their_names)
{
	ck_assert(kf_function_is_wrapper("operator new(unsigned long)"));
	ck_assert(kf_function_is_wrapper(
		"operator new[](unsigned long, std::nothrow_t const&)"));
	ck_assert(kf_function_is_wrapper("PyMem_Malloc"));
	ck_assert(kf_function_is_wrapper("xmalloc.part.0"));
	ck_assert(kf_function_is_wrapper("__GI___libc_malloc"));
	ck_assert(kf_function_is_wrapper(
		"std::allocator_traits<std::allocator<int> >::allocate("
		"std::allocator<int>&, unsigned long)"));
	ck_assert(kf_function_is_wrapper(
		"std::__new_allocator<a<b> >::allocate(unsigned long, void "
		"const*) [clone .isra.0]"));
	ck_assert(kf_function_is_wrapper(
		"std::vector<char, std::allocator<char> >::_M_default_append("
		"unsigned long)"));
	ck_assert(kf_function_is_wrapper(
		"std::pair<std::__detail::_Node_iterator<a, b>, bool> "
		"std::_Hashtable<long, c<d> >::_M_emplace<long&>(long&)"));
	ck_assert(kf_function_is_wrapper(
		"void std::deque<x>::_M_push_back_aux<y>(y&&)"));
	ck_assert(kf_function_is_wrapper("std::operator+(a, b)"));
	ck_assert(
		kf_function_is_wrapper("__gnu_cxx::new_allocator<a>::allocate("
				       "unsigned long, void const*)"));
	ck_assert(kf_function_is_wrapper(
		"alloc::raw_vec::RawVec<T,A>::grow_amortized"));
}
END_TEST

START_TEST(other_functions_are_no_wrappers)
{
	ck_assert(!kf_function_is_wrapper(""));
	ck_assert(!kf_function_is_wrapper("main"));
	ck_assert(!kf_function_is_wrapper("__GI__IO_file_doallocate"));
	ck_assert(!kf_function_is_wrapper("xmalloc_all"));
	ck_assert(!kf_function_is_wrapper("my::xmalloc(unsigned long)"));
	ck_assert(!kf_function_is_wrapper("xstrdup"));
	ck_assert(!kf_function_is_wrapper("operator()"));
	ck_assert(!kf_function_is_wrapper("a::operator newt()"));
	ck_assert(!kf_function_is_wrapper("PyList_New"));
	ck_assert(!kf_function_is_wrapper("std::vector<int> make(int)"));
	ck_assert(!kf_function_is_wrapper("void f<std::pair<a, b> >(std::c)"));
	ck_assert(!kf_function_is_wrapper("a::operator std::string() const"));
	ck_assert(!kf_function_is_wrapper(
		"std::ostream& operator<<(std::ostream&, a const&)"));
	ck_assert(!kf_function_is_wrapper(
		"main::{lambda(std::string)#1}::operator()(std::string) const"));
	ck_assert(!kf_function_is_wrapper("mine::std::f()"));
	ck_assert(!kf_function_is_wrapper("(anonymous namespace)::f(std::a)"));
	ck_assert(!kf_function_is_wrapper("stdio_read(int)"));
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		arguments_of_templates_are_folded,
		operators_keep_their_names,
		other_names_stay,
		deep_brackets_do_no_harm,
		wrappers_are_known_by_their_names,
		other_functions_are_no_wrappers,
	};

	return unit_run("reader/function-name", tests, KF_ARRAY_SIZE(tests));
}
