// SPDX-License-Identifier: MIT
/* Opening, changing and mounting: events of file systems. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "load_events.h"

#define INSIDE	"/etc/passwd" /* of the sensor's own set of paths, and on every machine */
#define OUTSIDE "/dev/null"
#define ONE	"/tmp/one"
#define OTHER	"/tmp/other"

void private_folder(void)
{
	if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("none", "/tmp", "tmpfs", 0, NULL))
		load_unavailable("a private file system at /tmp");
}

static void create(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	if (fd < 0)
		load_failed(path);
	close(fd);
}

static void open_and_close(const char *path)
{
	int fd = openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		load_failed(path);
	close(fd);
}

static void open_inside(void)
{
	open_and_close(INSIDE);
}

static void open_outside(void)
{
	open_and_close(OUTSIDE);
}

static void prepare_file(void)
{
	private_folder();
	create(ONE);
}

static void prepare_mount_point(void)
{
	private_folder();
	if (mkdir(ONE, 0700))
		load_failed(ONE);
}

/* The file is made anew each time: so that goes for both, with a sensor and without. */
static void unlink_file(void)
{
	create(OTHER);
	if (unlink(OTHER))
		load_failed("unlink");
}

static void rename_file(void)
{
	static int back;

	if (back ? rename(OTHER, ONE) : rename(ONE, OTHER))
		load_failed("rename");
	back = !back;
}

static void change_mode(void)
{
	static mode_t mode = 0600;

	mode ^= 0040;
	if (chmod(ONE, mode))
		load_failed("chmod");
}

static void mount_and_unmount(void)
{
	if (mount("none", ONE, "tmpfs", 0, NULL) || umount2(ONE, 0))
		load_failed("mount");
}

/* What a batch job does: many files that nobody watches, now and then one of the set. */
static void files(void)
{
	for (int i = 0; i < 19; i++)
		open_outside();
	open_inside();
}

const struct event file_events[] = {
	{"open_inside", "openat(2) of " INSIDE, NULL, open_inside},
	{"open_outside", "openat(2) of " OUTSIDE, NULL, open_outside},
	{"files", "19 of the second and 1 of the first", NULL, files},
	{"unlink", "a new file, and unlink(2)", private_folder, unlink_file},
	{"rename", "rename(2), to and fro", prepare_file, rename_file},
	{"chmod", "chmod(2), to and fro", prepare_file, change_mode},
	{"mount", "mount(2) of a tmpfs, and umount(2)", prepare_mount_point, mount_and_unmount},
	{0},
};
