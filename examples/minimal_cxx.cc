/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * minimal_cxx [FILE]: tags in C++. Writes its tags to FILE, as JSON.
 *
 *	c++ -std=c++17 minimal_cxx.cc -o minimal_cxx
 *	konfiscator run -- ./minimal_cxx tags.json && konfiscator tags tags.json
 */
#include <konfiscator.h>

#include <cstdio>
#include <cstring>
#include <memory>
#include <vector>

class store
{
      public:
	void load(std::size_t rows)
	{
		konf::tag_scope tag("store", __func__); /* store, then load */

		rows_.reserve(rows);
	}

	void index()
	{
		konf::tag_scope tag("store", __func__);

		index_ = std::make_unique<char[]>(2000);
		tag.release(); /* the following allocations have no tag */
		name_ = std::make_unique<char[]>(300);
	}

      private:
	std::vector<long> rows_;
	std::unique_ptr<char[]> index_, name_;
};

int main(int argc, char **argv)
{
	store s;
	int rc = 0;

	s.load(1000);
	s.index();
	if (argc > 1)
		rc = konf_tag_write(argv[1], KONF_TAG_JSON);
	if (rc)
		std::fprintf(stderr, "minimal_cxx: %s: %s\n", argv[1],
			     std::strerror(rc));
	return rc ? 1 : 0;
}
