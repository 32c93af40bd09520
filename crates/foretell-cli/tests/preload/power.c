/* Power loss: a library that is loaded before others and takes back all writes and renames that were not synced.
 *
 * POWER_FOLDER names the folder that is watched, POWER_AFTER after how many writes, truncations and renames in it the power
 * fails. The process then ends with 137. A file's writes are safe after fsync or fdatasync of the file, a rename after
 * fsync of the folder. Everything is kept in memory until then and taken back in reverse order. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct undo {
    struct undo *earlier;
    dev_t device;
    ino_t node;       /* the file that was written, or the folder of a rename */
    int fd;           /* a descriptor of our own, or -1 for a rename */
    off_t size, from; /* the size before, and where the bytes were */
    size_t length;
    char *bytes;
    char *source, *target, *kept; /* a rename, and what keeps the replaced file */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct undo *last;
static long left = -1;
static char folder[PATH_MAX];

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

__attribute__((constructor)) static void begin(void) {
    const char *where = getenv("POWER_FOLDER"), *after = getenv("POWER_AFTER");
    if (where && after && realpath(where, folder)) left = atol(after);
}

static int watched(const char *path) {
    return left >= 0 && strncmp(path, folder, strlen(folder)) == 0;
}

static int path_of(int fd, char *path) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, PATH_MAX - 1);
    if (n < 0) return 0;
    path[n] = 0;
    return watched(path);
}

static void fail(void) {
    for (struct undo *u = last; u; u = u->earlier) {
        if (u->fd >= 0) {
            if (u->length) (void)!REAL(pwrite)(u->fd, u->bytes, u->length, u->from);
            (void)!REAL(ftruncate)(u->fd, u->size);
        } else {
            REAL(rename)(u->target, u->source);
            if (u->kept) REAL(rename)(u->kept, u->target);
        }
    }
    _exit(137);
}

/* Counts one change; the power fails instead of the one after the last. */
static void count(void) {
    if (left-- == 0) fail();
}

static void before_write(int fd, off_t from, size_t length) {
    char path[PATH_MAX], link[64];
    struct stat facts;
    if (left < 0 || !path_of(fd, path) || fstat(fd, &facts) || !S_ISREG(facts.st_mode)) return;
    /* The shared memory of a log is gone after a power loss anyway. */
    size_t n = strlen(path);
    if (n > 4 && strcmp(path + n - 4, "-shm") == 0) return;
    count();
    struct undo *u = calloc(1, sizeof *u);
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    u->fd = REAL(open)(link, O_RDWR | O_CLOEXEC);
    u->device = facts.st_dev, u->node = facts.st_ino, u->size = facts.st_size, u->from = from;
    if (from < facts.st_size) {
        u->length = length < (size_t)(facts.st_size - from) ? length : (size_t)(facts.st_size - from);
        u->bytes = malloc(u->length);
        ssize_t got = pread(u->fd, u->bytes, u->length, from);
        u->length = got < 0 ? 0 : (size_t)got;
    }
    u->earlier = last, last = u;
}

static void synced(int fd) {
    struct stat facts;
    if (left < 0 || fstat(fd, &facts)) return;
    for (struct undo **at = &last; *at;) {
        struct undo *u = *at;
        if (u->device == facts.st_dev && u->node == facts.st_ino) {
            *at = u->earlier;
            if (u->fd >= 0) close(u->fd);
            if (u->kept) unlink(u->kept);
            free(u->bytes), free(u->source), free(u->target), free(u->kept), free(u);
        } else {
            at = &u->earlier;
        }
    }
}

static void before_rename(const char *source, const char *target) {
    char from[PATH_MAX], into[PATH_MAX], parent[PATH_MAX];
    struct stat facts;
    if (left < 0 || !realpath(source, from) || !watched(from)) return;
    count();
    snprintf(parent, sizeof parent, "%s", target);
    char *slash = strrchr(parent, '/');
    if (slash) *slash = 0; else snprintf(parent, sizeof parent, ".");
    if (!realpath(parent, into) || stat(into, &facts)) return;
    struct undo *u = calloc(1, sizeof *u);
    u->fd = -1, u->device = facts.st_dev, u->node = facts.st_ino;
    u->source = strdup(from);
    if (asprintf(&u->target, "%s/%s", into, slash ? strrchr(target, '/') + 1 : target) < 0) abort();
    static int number;
    if (access(u->target, F_OK) == 0 && stat(u->target, &facts) == 0 && S_ISREG(facts.st_mode)) {
        if (asprintf(&u->kept, "%s.kept-%d-%d", u->target, getpid(), number++) < 0) abort();
        if (link(u->target, u->kept)) free(u->kept), u->kept = NULL;
    }
    u->earlier = last, last = u;
}

#define LOCKED(work) pthread_mutex_lock(&lock); work; pthread_mutex_unlock(&lock)

ssize_t write(int fd, const void *bytes, size_t n) {
    off_t at = left < 0 ? -1 : lseek(fd, 0, SEEK_CUR);
    if (at >= 0) {
        if (fcntl(fd, F_GETFL) & O_APPEND) {
            struct stat facts;
            if (fstat(fd, &facts) == 0) at = facts.st_size;
        }
        LOCKED(before_write(fd, at, n));
    }
    return REAL(write)(fd, bytes, n);
}
ssize_t pwrite(int fd, const void *bytes, size_t n, off_t at) {
    LOCKED(before_write(fd, at, n));
    return REAL(pwrite)(fd, bytes, n, at);
}
ssize_t pwrite64(int fd, const void *bytes, size_t n, off64_t at) {
    LOCKED(before_write(fd, at, n));
    return REAL(pwrite64)(fd, bytes, n, at);
}
int ftruncate(int fd, off_t size) {
    LOCKED(before_write(fd, size, SSIZE_MAX));
    return REAL(ftruncate)(fd, size);
}
int ftruncate64(int fd, off64_t size) {
    LOCKED(before_write(fd, size, SSIZE_MAX));
    return REAL(ftruncate64)(fd, size);
}
int fsync(int fd) {
    int result = REAL(fsync)(fd);
    LOCKED(synced(fd));
    return result;
}
int fdatasync(int fd) {
    int result = REAL(fdatasync)(fd);
    LOCKED(synced(fd));
    return result;
}
int rename(const char *source, const char *target) {
    LOCKED(before_rename(source, target));
    return REAL(rename)(source, target);
}
