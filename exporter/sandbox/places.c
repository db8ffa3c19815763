/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What is allowed: see places.h.
 */
#include "config.h"

#include "exporter/sandbox/places.h"

#include "exporter/config/web_config.h"
#include "exporter/log.h"
#include "exporter/sandbox/landlock.h"
#include "reader/reader.h"

#include <curl/curl.h>
#include <errno.h>
#include <limits.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DNS_PORT 53 /* for answers that are too long for UDP */
#define UNIX_ADDRESS "unix:"

struct places {
	int rules;
	int abi;
};

/* Where programs and libraries are, and what libraries read for names of users
 * and hosts. Most machines have some of these only. */
static const char *const places_read[] = {
	"/bin",
	"/dev/kmsg",
	"/dev/random",
	"/dev/urandom",
	"/etc",
	"/gnu/store",
	"/lib",
	"/lib32",
	"/lib64",
	"/libx32",
	"/nix/store",
	"/opt",
	"/run/systemd/userdb",
	"/sbin",
	"/snap",
	"/sys/devices/system/cpu",
	"/usr",
	"/var/lib/sss",
};

static int places_add(const struct places *p, const char *path, uint64_t rights)
{
	int rc = kf_landlock_path(p->rules, p->abi, path, rights);

	if (rc != 0 && errno != ENOENT)
		kf_log(KF_LOG_DEBUG, "not in the sandbox", "path", path,
		       "error", strerror(errno), NULL);
	return rc;
}

/* Cut off the last part of a path; false if that would be the root. */
static bool places_go_up(char *path)
{
	char *slash = strrchr(path, '/');

	while (slash > path && slash[-1] == '/')
		slash--;
	if (!slash) {
		bool more = strcmp(path, ".") != 0;

		memcpy(path, ".", sizeof("."));
		return more;
	}
	*slash = '\0';
	return slash > path;
}

/* A directory, or the nearest one above it that exists; never the root. */
static void places_add_dir(const struct places *p, const char *dir,
			   uint64_t rights)
{
	char path[PATH_MAX];

	if (snprintf(path, sizeof(path), "%s", dir) >= (int)sizeof(path))
		return;
	while (places_add(p, path, rights) != 0 && errno == ENOENT) {
		if (!places_go_up(path))
			break;
	}
}

/* The directories of a file and of what it links to. */
static void places_add_file(const struct places *p, const char *file,
			    uint64_t rights)
{
	char path[PATH_MAX], real[PATH_MAX];

	if (!file || !*file ||
	    snprintf(path, sizeof(path), "%s", file) >= (int)sizeof(path))
		return;
	if (places_go_up(path))
		places_add_dir(p, path, rights);
	else
		places_add(p, file, rights);
	if (realpath(file, real) && places_go_up(real))
		places_add(p, real, rights);
}

static void places_add_stats(const struct places *p, const struct kf_options *o)
{
	char **own = o->nr_dirs ? NULL : kf_default_dirs();
	const char *const *dirs = own ? (const char *const *)own : o->dirs;

	for (; *dirs; dirs++)
		places_add_dir(p, *dirs, KF_LL_CHANGE);
	free(own);
	/* directories of users who come later */
	if (!o->nr_dirs && geteuid() == 0) {
		places_add(p, "/run/user", KF_LL_CHANGE);
		places_add(p, "/tmp", KF_LL_CHANGE);
	}
}

static void places_add_web(const struct places *p, const char *path)
{
	struct kf_web_config c;
	char error[600];

	if (!path)
		return;
	places_add_file(p, path, KF_LL_READ);
	/* errors are told when it is read again */
	kf_web_config_read(&c, path, error, sizeof(error));
	places_add_file(p, c.cert.file, KF_LL_READ);
	places_add_file(p, c.key.file, KF_LL_READ);
	places_add_file(p, c.client_ca.file, KF_LL_READ);
	kf_web_config_release(&c);
}

static void places_add_listen(const struct places *p, const char *address)
{
	const char *port = strrchr(address, ':') + 1;
	const struct servent *service;

	if (strncmp(address, UNIX_ADDRESS, strlen(UNIX_ADDRESS)) == 0) {
		places_add_file(p, address + strlen(UNIX_ADDRESS),
				KF_LL_MAKE_SOCK | KF_LL_REMOVE_FILE);
		return;
	}
	service = getservbyname(port, "tcp");
	kf_landlock_port(p->rules, p->abi,
			 service ? ntohs((uint16_t)service->s_port)
				 : (uint16_t)strtoul(port, NULL, 10),
			 KF_LL_BIND_TCP);
}

static void places_add_url(const struct places *p, const char *text,
			   const char *default_port)
{
	CURLU *url = curl_url();
	char *port = NULL;

	if (url && text &&
	    curl_url_set(url, CURLUPART_URL, text, CURLU_GUESS_SCHEME) ==
		    CURLUE_OK &&
	    curl_url_get(url, CURLUPART_PORT, &port,
			 default_port ? 0 : CURLU_DEFAULT_PORT) !=
		    CURLUE_NO_PORT)
		default_port = port;
	if (text && default_port)
		kf_landlock_port(p->rules, p->abi,
				 (uint16_t)strtoul(default_port, NULL, 10),
				 KF_LL_CONNECT_TCP);
	curl_free(port);
	curl_url_cleanup(url);
}

static void places_add_receiver(const struct places *p,
				const struct kf_receiver *to)
{
	places_add_url(p, to->url, NULL);
	places_add_file(p, to->headers_file, KF_LL_READ);
	places_add_file(p, to->ca_file, KF_LL_READ);
}

/* libcurl takes proxies from the environment. */
static void places_add_receivers(const struct places *p,
				 const struct kf_options *o)
{
	static const char *const proxies[] = {"http_proxy", "https_proxy",
					      "HTTPS_PROXY", "all_proxy",
					      "ALL_PROXY"};

	if (!o->otlp.url && !o->pyroscope.url)
		return;
	places_add_receiver(p, &o->otlp);
	places_add_receiver(p, &o->pyroscope);
	for (size_t i = 0; i < KF_ARRAY_SIZE(proxies); i++)
		places_add_url(p, getenv(proxies[i]), "1080");
	kf_landlock_port(p->rules, p->abi, DNS_PORT, KF_LL_CONNECT_TCP);
}

void kf_places_allow(int rules, int abi, const struct kf_options *o,
		     const char *state_file)
{
	const struct places p = {.rules = rules, .abi = abi};

	for (size_t i = 0; i < KF_ARRAY_SIZE(places_read); i++)
		places_add(&p, places_read[i], KF_LL_READ);
	for (unsigned int i = 0; i < o->nr_reads; i++)
		places_add_dir(&p, o->reads[i], KF_LL_READ);
	places_add(&p, "/proc", KF_LL_READ);
	places_add(&p, o->procfs, KF_LL_READ);
	places_add(&p, o->cgroupfs, KF_LL_READ);
	/* maps of JIT compilers */
	places_add(&p, "/tmp", KF_LL_READ_FILE);
	places_add_file(&p, "/etc/resolv.conf", KF_LL_READ);
	places_add_file(&p, o->config, KF_LL_READ);
	places_add_file(&p, o->trace.nr ? o->trace.page : NULL, KF_LL_READ);
	places_add_file(&p, state_file, KF_LL_CHANGE);
	places_add_stats(&p, o);
	places_add_web(&p, o->web_config);
	for (unsigned int i = 0; i < o->nr_listen; i++)
		places_add_listen(&p, o->listen[i]);
	places_add_receivers(&p, o);
}
