/* A preloaded library: the clock of the day is CLOCK_AHEAD seconds ahead. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>

int clock_gettime(clockid_t id, struct timespec *now) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real) real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    int failed = real(id, now);
    const char *ahead = getenv("CLOCK_AHEAD");
    if (!failed && id == CLOCK_REALTIME && ahead) now->tv_sec += atoll(ahead);
    return failed;
}
