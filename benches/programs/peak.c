/* Counts the memory of code whose malloc and free are these (benches/src/memory.rs). */
#ifdef __linux__
#define _DEFAULT_SOURCE
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* A tape asks for more than it will use: of large blocks, only pages that were used count. */
enum { LARGE = 1 << 17, MOST_BLOCKS = 256 };

static void *large[MOST_BLOCKS];
static long small, most;
static int counting;

/* The bytes of a block in pages that have been used. */
static long used(void *block) {
    uintptr_t page = sysconf(_SC_PAGESIZE), first = (uintptr_t)block / page * page;
    long all = malloc_usable_size(block);
    size_t pages = ((uintptr_t)block + all - first + page - 1) / page;
    unsigned char *there = malloc(pages);
    long bytes = 0;
    if (there && !mincore((void *)first, pages * page, there))
        for (size_t i = 0; i < pages; i++) bytes += (there[i] & 1) * page;
    free(there);
    return bytes < all ? bytes : all;
}

static void count(void) {
    long now = small;
    for (int i = 0; i < MOST_BLOCKS; i++)
        if (large[i]) now += used(large[i]);
    if (now > most) most = now;
}

/* Returns where `block` is among the large ones; MOST_BLOCKS: nowhere. */
static int place(void *block) {
    int i = 0;
    while (i < MOST_BLOCKS && large[i] != block) i++;
    return i;
}

static void *begun(void *block) {
    size_t bytes = malloc_usable_size(block);
    int i = bytes < LARGE ? MOST_BLOCKS : place(NULL);
    if (i < MOST_BLOCKS) large[i] = block;
    else small += bytes;
    count();
    return block;
}

static void ended(void *block) {
    size_t bytes = malloc_usable_size(block);
    int i = bytes < LARGE ? MOST_BLOCKS : place(block);
    count();
    if (i < MOST_BLOCKS) large[i] = NULL;
    else small -= bytes;
}

/* What is not counted costs nothing: calls that are timed come later. */
void *peak_malloc(size_t bytes) {
    void *block = malloc(bytes);
    return counting && block ? begun(block) : block;
}

void *peak_calloc(size_t number, size_t bytes) {
    void *block = calloc(number, bytes);
    return counting && block ? begun(block) : block;
}

void peak_free(void *block) {
    if (counting && block) ended(block);
    free(block);
}

void *peak_realloc(void *block, size_t bytes) {
    if (counting && block) ended(block);
    void *resized = realloc(block, bytes);
    if (counting && (resized || bytes)) begun(resized ? resized : block);
    return resized;
}

/* For Fortran: begins to count, and returns the peak in bytes since then. */
void peakst_(void) {
    counting = 1;
    most = small = 0;
    for (int i = 0; i < MOST_BLOCKS; i++) large[i] = NULL;
}

double peakrd_(void) {
    count();
    counting = 0;
    return (double)most;
}
#else
void peakst_(void) {}
double peakrd_(void) { return 0; }
#endif
