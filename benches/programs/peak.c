/* Counts the memory of code whose malloc and free are these (benches/kernels). */
#include <malloc.h>
#include <stdlib.h>

static size_t now, most;

static void *counted(void *block) {
    if (block) now += malloc_usable_size(block);
    if (now > most) most = now;
    return block;
}

void *peak_malloc(size_t bytes) { return counted(malloc(bytes)); }

void *peak_calloc(size_t count, size_t bytes) { return counted(calloc(count, bytes)); }

void peak_free(void *block) {
    if (block) now -= malloc_usable_size(block);
    free(block);
}

void *peak_realloc(void *block, size_t bytes) {
    size_t before = block ? malloc_usable_size(block) : 0;
    void *resized = realloc(block, bytes);
    if (resized) now -= before;
    return resized ? counted(resized) : NULL;
}

/* For Fortran: begins to count, and returns the peak in bytes since then. */
void peakst_(void) { most = now; }
double peakrd_(void) { return (double)most; }
