/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Numbers for people: three or four digits and a unit.
 */
#ifndef KF_READER_HUMAN_H
#define KF_READER_HUMAN_H

#include "base/compiler.h"

/**
 * kf_human_bytes() - a number of bytes for people, such as 3.42Gi
 * @buf:	out
 * @size:	room in @buf
 * @bytes:	the number
 *
 * Return: @buf.
 */
char *kf_human_bytes(char *buf, size_t size, uint64_t bytes);

/**
 * kf_human_size() - a number of bytes for a page, such as 3.42 GiB
 * @buf:	out
 * @size:	room in @buf
 * @bytes:	the number
 *
 * Return: @buf.
 */
char *kf_human_size(char *buf, size_t size, double bytes);

/**
 * kf_human_count() - a number of things for people, such as 212.8k
 * @buf:	out
 * @size:	room in @buf
 * @n:		the number
 *
 * Return: @buf.
 */
char *kf_human_count(char *buf, size_t size, double n);

/**
 * kf_human_age() - a span of time for people, such as 3d4h
 * @buf:	out
 * @size:	room in @buf
 * @seconds:	the span
 *
 * Return: @buf.
 */
char *kf_human_age(char *buf, size_t size, uint64_t seconds);

/**
 * kf_human_seconds() - a short span of time for people, such as 1.25ms
 * @buf:	out
 * @size:	room in @buf
 * @seconds:	the span
 *
 * Return: @buf.
 */
char *kf_human_seconds(char *buf, size_t size, double seconds);

#endif
