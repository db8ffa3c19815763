/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Compressed files, by libzstd. A page of zeroes, of which recordings have many
 * at the ends of their chunks, becomes a hole again.
 */
#include "config.h"

#include "cli/zstd.h"

#include "cli/cli.h"
#include "cli/output.h"
#include "reader/place.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The first bytes of a frame, little endian. */
#define FRAME_MAGIC 0xfd2fb528u

bool kf_zstd_is(int fd)
{
	uint8_t b[4];

	return pread(fd, b, sizeof(b), 0) == sizeof(b) &&
	       (b[0] | b[1] << 8 | b[2] << 16 | (uint32_t)b[3] << 24) ==
		       FRAME_MAGIC;
}

#ifdef KF_ZSTD

#include <zstd.h>

#define LEVEL 3
#define HOLE 4096u

bool kf_zstd_is_built(void)
{
	return true;
}

/* A file that is read or written in pieces. */
struct stream {
	int fd;
	const char *path;
	char *buf;
	size_t room;
};

static ssize_t zstd_read(const struct stream *s)
{
	ssize_t n;

	do
		n = read(s->fd, s->buf, s->room);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		kf_error("%s: %s", s->path, strerror(errno));
	return n;
}

static bool zstd_write(int fd, const char *p, size_t size)
{
	while (size) {
		ssize_t n = write(fd, p, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		p += n;
		size -= (size_t)n;
	}
	return true;
}

static bool is_zero(const char *p, size_t size)
{
	return !size || (!p[0] && !memcmp(p, p + 1, size - 1));
}

/* Write what is not zero; the file's position is behind all of it. */
static bool write_sparse(int fd, const char *p, size_t size)
{
	while (size) {
		size_t n = KF_MIN(size, (size_t)HOLE);
		bool done = is_zero(p, n) ? lseek(fd, (off_t)n, SEEK_CUR) >= 0
					  : zstd_write(fd, p, n);

		if (!done)
			return false;
		p += n;
		size -= n;
	}
	return true;
}

/* A file that is being unpacked. */
struct unpacker {
	ZSTD_DStream *z;
	struct stream in, out;
	uint64_t magic;
	uint64_t size; /* of what is unpacked */
	size_t hint;   /* 0: between two frames */
	int result;    /* of kf_zstd_unpack(), if negative */
};

static int unpack_failed(struct unpacker *u)
{
	kf_error("cannot unpack %s: %s: set TMPDIR to another directory",
		 u->in.path, strerror(errno));
	return u->result = -1;
}

static int unpack_take(struct unpacker *u, size_t size)
{
	if (!u->size && size >= sizeof(u->magic) &&
	    memcmp(u->out.buf, &u->magic, sizeof(u->magic)) != 0)
		return u->result = -2;
	u->size += size;
	return write_sparse(u->out.fd, u->out.buf, size) ? 0 : unpack_failed(u);
}

static int unpack_damaged(const struct unpacker *u)
{
	kf_error("%s: the compressed file is damaged: it ends after %llu bytes "
		 "of what is in it",
		 u->in.path, (unsigned long long)u->size);
	return 1;
}

/* Returns 0, 1 where the contents end, or -1. */
static int unpack_piece(struct unpacker *u, size_t size)
{
	ZSTD_inBuffer in = {u->in.buf, size, 0};
	bool full;

	do {
		ZSTD_outBuffer out = {u->out.buf, u->out.room, 0};

		u->hint = ZSTD_decompressStream(u->z, &out, &in);
		if (unpack_take(u, out.pos))
			return -1;
		if (ZSTD_isError(u->hint))
			return unpack_damaged(u);
		full = out.pos == out.size;
	} while (in.pos < in.size || (full && u->hint));
	return 0;
}

static void unpack_all(struct unpacker *u)
{
	ssize_t n;
	int rc = 0;

	while (!rc && (n = zstd_read(&u->in)) > 0)
		rc = unpack_piece(u, (size_t)n);
	if (!rc && n < 0)
		u->result = -1;
	else if (!rc && u->hint)
		unpack_damaged(u);
	if (!u->result && ftruncate(u->out.fd, (off_t)u->size))
		unpack_failed(u);
}

int kf_zstd_unpack(int fd, const char *path, uint64_t magic)
{
	struct unpacker u = {
		.z = ZSTD_createDStream(),
		.in = {fd, path, NULL, ZSTD_DStreamInSize()},
		.magic = magic,
	};

	u.in.buf = kf_alloc(u.in.room, 1);
	u.out.room = ZSTD_DStreamOutSize();
	u.out.buf = kf_alloc(u.out.room, 1);
	u.out.fd = kf_output_unnamed();
	if (!u.z)
		kf_error("out of memory");
	if (u.out.fd < 0 || !u.z)
		u.result = -1;
	else
		unpack_all(&u);
	ZSTD_freeDStream(u.z);
	free(u.in.buf);
	free(u.out.buf);
	close(fd);
	if (!u.result)
		return u.out.fd;
	if (u.out.fd >= 0)
		close(u.out.fd);
	return u.result;
}

static int pack_failed(const struct stream *out, const char *why)
{
	kf_error("%s.zst: %s", out->path, why);
	return -1;
}

/* Compress a piece, the last one with @end; returns 0, or -1 after a message.
 */
static int pack_piece(ZSTD_CCtx *z, const struct stream *out, const void *data,
		      size_t size, ZSTD_EndDirective end)
{
	ZSTD_inBuffer in = {data, size, 0};
	size_t left;

	do {
		ZSTD_outBuffer piece = {out->buf, out->room, 0};

		left = ZSTD_compressStream2(z, &piece, &in, end);
		if (ZSTD_isError(left))
			return pack_failed(out, ZSTD_getErrorName(left));
		if (!zstd_write(out->fd, out->buf, piece.pos))
			return pack_failed(out, strerror(errno));
	} while (end == ZSTD_e_end ? left > 0 : in.pos < in.size);
	return 0;
}

static int pack_all(const struct stream *in, const struct stream *out)
{
	ZSTD_CCtx *z = ZSTD_createCCtx();
	ssize_t n = 0;
	int rc = z ? 0 : pack_failed(out, "out of memory");

	if (z) {
		ZSTD_CCtx_setParameter(z, ZSTD_c_compressionLevel, LEVEL);
		ZSTD_CCtx_setParameter(z, ZSTD_c_checksumFlag, 1);
	}
	while (!rc && (n = zstd_read(in)) > 0)
		rc = pack_piece(z, out, in->buf, (size_t)n, ZSTD_e_continue);
	if (!rc)
		rc = n < 0 ? -1 : pack_piece(z, out, NULL, 0, ZSTD_e_end);
	ZSTD_freeCCtx(z);
	return rc;
}

/* Compress an open file into @o. */
static int pack_into(const struct stream *in, struct kf_output *o, int fd,
		     mode_t mode)
{
	struct stream out = {fd, in->path, NULL, ZSTD_CStreamOutSize()};
	int rc;

	out.buf = kf_alloc(out.room, 1);
	rc = pack_all(in, &out);
	free(out.buf);
	if (!rc && (fchmod(fd, mode & 0777) || kf_output_show(o)))
		rc = pack_failed(&out, strerror(errno));
	return rc;
}

static int pack_delete(const char *path, const struct stat *st)
{
	const char *name;
	int dirfd = kf_place_of(path, &name);
	int rc = dirfd < 0
			 ? -1
			 : kf_place_delete(dirfd, name, st->st_dev, st->st_ino);

	if (rc)
		kf_error("%s: %s", path, strerror(errno));
	if (dirfd >= 0)
		close(dirfd);
	return rc;
}

int kf_zstd_pack(const char *path, uint64_t *before, uint64_t *after)
{
	struct stream in = {.path = path, .room = ZSTD_CStreamInSize()};
	char *name = kf_format("%s.zst", path);
	struct kf_output o = {0};
	struct stat st, packed;
	int fd = -1, rc = -1;

	in.fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (in.fd < 0 || fstat(in.fd, &st))
		kf_error("%s: %s", path, strerror(errno));
	else
		fd = kf_output_make(&o, name);
	if (fd >= 0) {
		in.buf = kf_alloc(in.room, 1);
		rc = pack_into(&in, &o, fd, st.st_mode);
		free(in.buf);
	}
	if (!rc)
		rc = fstat(fd, &packed) ? -1 : pack_delete(path, &st);
	*before = rc ? 0 : (uint64_t)st.st_size;
	*after = rc ? 0 : (uint64_t)packed.st_size;
	if (fd >= 0)
		close(fd);
	if (in.fd >= 0)
		close(in.fd);
	kf_output_release(&o);
	free(name);
	return rc;
}

#else

bool kf_zstd_is_built(void)
{
	return false;
}

int kf_zstd_unpack(int fd, const char *path, uint64_t magic)
{
	(void)magic;
	kf_error("%s: it is compressed, and this konfiscator was built without "
		 "libzstd: unpack it with zstd -d before",
		 path);
	close(fd);
	return -1;
}

int kf_zstd_pack(const char *path, uint64_t *before, uint64_t *after)
{
	*before = *after = 0;
	kf_error("%s: this konfiscator was built without libzstd", path);
	return -1;
}

#endif
