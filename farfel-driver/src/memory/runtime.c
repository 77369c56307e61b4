/* The memory of the derivatives in an executable program: what farfel-runtime/src/memory.rs is for libraries.
 *
 * Objects with derivatives call these functions in place of malloc, calloc, realloc and free. Each thread keeps
 * the large blocks that are freed, up to a limit, and the next call takes them from there: the system would have
 * to provide every page anew. All blocks come from malloc, and whoever frees one may do so with free. A program
 * ends at STOP, so no call is ever abandoned. */

#include <malloc.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

/* As in memory.rs. */
#define LEAST ((size_t)16 << 10)
#define MOST_BLOCKS 64
#define DEFAULT_LIMIT ((size_t)256 << 20)

struct block {
    void *address;
    size_t bytes;
};

/* The blocks that the thread keeps, the newest at the end; counts of bytes. */
static __thread struct block kept[MOST_BLOCKS];
static __thread int blocks;
static __thread size_t kept_bytes, in_use, peak;
static __thread int known;

static pthread_key_t key;
static size_t limit = DEFAULT_LIMIT;

static void shrink(size_t bytes, int most) {
    int gone = 0;
    while (gone < blocks && (blocks - gone > most || kept_bytes > bytes)) {
        kept_bytes -= kept[gone].bytes;
        free(kept[gone++].address);
    }
    blocks -= gone;
    memmove(kept, kept + gone, (size_t)blocks * sizeof *kept);
}

static void end_of_thread(void *unused) {
    (void)unused;
    shrink(0, 0);
}

__attribute__((constructor)) static void begin(void) {
    struct rlimit all;
    const char *set = getenv("FARFEL_KEPT_MEMORY");
    char *end = NULL;
    unsigned long long megabytes = set ? strtoull(set, &end, 10) : 0;
    pthread_key_create(&key, end_of_thread);
    if (end && end != set && *end == 0)
        limit = megabytes > SIZE_MAX >> 20 ? SIZE_MAX : (size_t)megabytes << 20;
    else if (!getrlimit(RLIMIT_AS, &all) && all.rlim_cur != RLIM_INFINITY && all.rlim_cur / 8 < limit)
        limit = (size_t)(all.rlim_cur / 8);
}

static void keep(void *address, size_t bytes) {
    if (bytes > limit) {
        free(address);
        return;
    }
    if (!known) {
        known = 1;
        pthread_setspecific(key, &known);
    }
    shrink(limit - bytes, MOST_BLOCKS - 1);
    kept[blocks].address = address;
    kept[blocks++].bytes = bytes;
    kept_bytes += bytes;
}

static void *find(size_t bytes) {
    int best = -1;
    for (int i = 0; i < blocks; i++)
        if (kept[i].bytes >= bytes && kept[i].bytes / 4 <= bytes && (best < 0 || kept[i].bytes < kept[best].bytes))
            best = i;
    if (best < 0) return NULL;
    void *address = kept[best].address;
    kept_bytes -= kept[best].bytes;
    blocks--;
    memmove(kept + best, kept + best + 1, (size_t)(blocks - best) * sizeof *kept);
    return address;
}

static void count(void *address, int sign) {
    size_t bytes = malloc_usable_size(address);
    if (bytes < LEAST) return;
    if (sign > 0)
        in_use += bytes;
    else
        in_use -= bytes < in_use ? bytes : in_use;
    if (in_use > peak) peak = in_use;
}

void *farfel_malloc_v1(size_t bytes) {
    if (bytes < LEAST) return malloc(bytes);
    void *address = find(bytes);
    if (!address) address = malloc(bytes);
    if (!address) {
        shrink(0, 0);
        address = malloc(bytes);
    }
    if (address) count(address, 1);
    return address;
}

void *farfel_calloc_v1(size_t count, size_t bytes) {
    size_t all;
    if (__builtin_mul_overflow(count, bytes, &all) || all < LEAST) return calloc(count, bytes);
    void *address = farfel_malloc_v1(all);
    return address ? memset(address, 0, all) : NULL;
}

void *farfel_realloc_v1(void *address, size_t bytes) {
    size_t before = address ? malloc_usable_size(address) : 0;
    void *resized = realloc(address, bytes);
    if (resized) {
        if (before >= LEAST) in_use -= before < in_use ? before : in_use;
        count(resized, 1);
    }
    return resized;
}

void farfel_free_v1(void *address) {
    if (!address) return;
    size_t bytes = malloc_usable_size(address);
    if (bytes < LEAST) {
        free(address);
        return;
    }
    count(address, -1);
    keep(address, bytes);
}

/* CALL FARFEL_MEMORY_V1(IN_USE, KEPT, PEAK): INTEGER*8, bytes of this thread. */
void farfel_memory_v1_(int64_t *in_use_now, int64_t *kept_now, int64_t *peak_so_far) {
    *in_use_now = (int64_t)in_use;
    *kept_now = (int64_t)kept_bytes;
    *peak_so_far = (int64_t)peak;
}

/* CALL FARFEL_RELEASE_V1: gives back what this thread keeps; the peak starts anew. */
void farfel_release_v1_(void) {
    shrink(0, 0);
    peak = in_use;
}
