/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Building messages of OTLP. They are allocated in a page, which is released as
 * a whole; its @failed tells that memory was short.
 */
#ifndef KF_EXPORTER_OTLP_MESSAGE_H
#define KF_EXPORTER_OTLP_MESSAGE_H

#include "exporter/collect/model.h"
#include "exporter/otlp/otlp.h"
#include "exporter/otlp/otlp.pb-c.h"

/* A message, not initialized; NULL when out of memory. */
#define OTLP_NEW(page, type) ((type *)kf_page_alloc(page, sizeof(type)))

/* Appends to the list @field of @message; false when out of memory. */
#define OTLP_ADD(page, message, field, value)                        \
	(kf_otlp_grow(page, &(message)->field, (message)->n_##field, \
		      sizeof(*(message)->field)) &&                  \
	 ((message)->field[(message)->n_##field++] = (value), true))

/**
 * kf_otlp_grow() - make room in a list for one element more
 * @page:	owns the list
 * @list:	address of the pointer to the list
 * @nr:		elements in it
 * @size:	bytes of an element
 *
 * Return: false when out of memory.
 */
bool kf_otlp_grow(struct kf_page *page, void *list, size_t nr,
		  size_t size) __must_check;

/**
 * kf_otlp_attribute() - make an attribute
 * @page:	owns it
 * @key:	its name; outlives the page
 * @value:	likewise
 *
 * Return: the attribute; NULL when out of memory.
 */
Kf__Otlp__Attribute *kf_otlp_attribute(struct kf_page *page, const char *key,
				       const char *value);

/**
 * kf_otlp_resource() - make the resource of a group
 * @page:	owns it
 * @name:	name of the group; NULL: the exporter itself
 * @container:	its container, or ""
 *
 * Return: the resource; NULL when out of memory.
 */
Kf__Otlp__Resource *kf_otlp_resource(struct kf_page *page, const char *name,
				     const char *container);

/**
 * kf_otlp_scope() - make the scope, which is this exporter
 * @page:	owns it
 *
 * Return: the scope; NULL when out of memory.
 */
Kf__Otlp__Scope *kf_otlp_scope(struct kf_page *page);

/**
 * kf_otlp_pack() - make a request of a message
 * @message:	the message
 * @items:	data points or samples in it
 *
 * Return: the request; NULL when out of memory.
 */
struct kf_post_request *kf_otlp_pack(const ProtobufCMessage *message,
				     size_t items);

#endif
