/* The stack of adjoint code, with the names and the calling conventions that Tapenade's
 * output uses. It stands in for adStack.c where Tapenade's own kit is not there.
 *
 * Values are bytes on one stack, in the order of the calls. The stack is a list of pieces
 * that double in size, so that it grows as far as there is memory and nothing ever moves;
 * pieces stay until the program ends, so that a stack that breathes does not cost
 * allocations.
 *
 * Repetition: ADSTACK_STARTREPEAT marks the top. What is popped after it is still needed:
 * ADSTACK_RESETREPEAT goes back to the mark, so that it can be popped again, and
 * ADSTACK_ENDREPEAT forgets the mark. What is pushed in between must not overwrite what
 * the mark protects. It goes above it, and a "bridge" remembers from where it went there;
 * when it has been popped again, the bridge leads back.
 *
 * Each thread has a stack of its own.
 *
 * The Fortran entries are lower case with an underscore appended, as gfortran, ifort and
 * flang call them. Arguments are addresses; the length of a CHARACTER comes last, by
 * value.
 */

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L
#define PER_THREAD _Thread_local
#elif defined(__GNUC__)
#define PER_THREAD __thread
#else
#define PER_THREAD
#endif

/* The first piece. Each further one is as large as all before it together. */
#define FIRST_PIECE ((uint64_t)1 << 16)
/* More pieces than any memory can hold. */
#define PIECES 47

/* Position p lies in piece 0 for p < FIRST_PIECE, else in the piece whose start is the
 * largest power of two times FIRST_PIECE that is not above p. */
static PER_THREAD unsigned char *pieces[PIECES];
static PER_THREAD uint64_t top;
static PER_THREAD uint64_t peak;

struct mark {
    uint64_t top;       /* where the stack stood */
    uint64_t shield;    /* what the marks around it protect */
    size_t bridges;     /* how many bridges there were */
};

struct bridge {
    uint64_t base; /* where it landed */
    uint64_t back; /* where it came from */
};

/* Everything below is needed by a mark. 0 without marks. */
static PER_THREAD uint64_t shield;
static PER_THREAD struct mark *marks;
static PER_THREAD size_t mark_count, mark_room;
static PER_THREAD struct bridge *bridges;
static PER_THREAD size_t bridge_count, bridge_room;

static void give_up(const char *what)
{
    fprintf(stderr, "adjoint stack: %s\n", what);
    exit(EXIT_FAILURE);
}

static void *grown(void *list, size_t count, size_t *room, size_t size)
{
    if (count < *room)
        return list;
    *room = *room ? 2 * *room : 16;
    list = realloc(list, *room * size);
    if (!list)
        give_up("no memory left");
    return list;
}

/* The piece that was used last: nearly always the next one too. */
static PER_THREAD unsigned char *here;
static PER_THREAD uint64_t here_start, here_size;

/* The address of position p, and in *rest how much of its piece follows. */
static unsigned char *place(uint64_t p, uint64_t *rest)
{
    unsigned n = 0;
    uint64_t start = 0, size = FIRST_PIECE;
    if (p - here_start < here_size) {
        *rest = here_start + here_size - p;
        return here + (p - here_start);
    }
    while (p >= start + size) {
        start += size;
        if (n > 0)
            size *= 2;
        n++;
    }
    if (!pieces[n]) {
        if (size != (uint64_t)(size_t)size || !(pieces[n] = malloc((size_t)size)))
            give_up("no memory left");
    }
    here = pieces[n];
    here_start = start;
    here_size = size;
    *rest = start + size - p;
    return pieces[n] + (p - start);
}

/* Copies between the stack and memory, piece by piece. */
static void copy_in(uint64_t p, const unsigned char *from, uint64_t bytes)
{
    while (bytes) {
        uint64_t rest;
        unsigned char *to = place(p, &rest);
        uint64_t now = bytes < rest ? bytes : rest;
        memcpy(to, from, (size_t)now);
        p += now;
        from += now;
        bytes -= now;
    }
}

static void copy_out(unsigned char *to, uint64_t p, uint64_t bytes)
{
    while (bytes) {
        uint64_t rest;
        const unsigned char *from = place(p, &rest);
        uint64_t now = bytes < rest ? bytes : rest;
        memcpy(to, from, (size_t)now);
        p += now;
        to += now;
        bytes -= now;
    }
}

static void push(const void *from, uint64_t bytes)
{
    if (!bytes)
        return;
    if (top < shield) {
        bridges = grown(bridges, bridge_count, &bridge_room, sizeof *bridges);
        bridges[bridge_count].base = shield;
        bridges[bridge_count].back = top;
        bridge_count++;
        top = shield;
    }
    copy_in(top, from, bytes);
    top += bytes;
    if (top > peak)
        peak = top;
}

static void pop(void *to, uint64_t bytes)
{
    if (!bytes)
        return;
    while (bridge_count && top == bridges[bridge_count - 1].base) {
        bridge_count--;
        top = bridges[bridge_count].back;
    }
    if (bytes > top)
        give_up("popped more than was pushed");
    top -= bytes;
    copy_out(to, top, bytes);
}

void adstack_startrepeat_(void)
{
    marks = grown(marks, mark_count, &mark_room, sizeof *marks);
    marks[mark_count].top = top;
    marks[mark_count].shield = shield;
    marks[mark_count].bridges = bridge_count;
    mark_count++;
    if (top > shield)
        shield = top;
}

void adstack_resetrepeat_(void)
{
    if (!mark_count)
        give_up("nothing to repeat");
    top = marks[mark_count - 1].top;
    bridge_count = marks[mark_count - 1].bridges;
}

void adstack_endrepeat_(void)
{
    if (!mark_count)
        give_up("nothing to repeat");
    mark_count--;
    shield = marks[mark_count].shield;
}

void adstack_showpeaksize_(void)
{
    printf("adjoint stack: %llu bytes at most\n", (unsigned long long)peak);
}

void adstack_showpeak_(void)
{
    adstack_showpeaksize_();
}

/* How much is on the stack now: 0 after a complete adjoint. For tests. */
void adstack_size_(int64_t *bytes)
{
    *bytes = (int64_t)top;
}

static uint64_t many(const int *n)
{
    return *n > 0 ? (uint64_t)*n : 0;
}

/* Scalars and arrays of elements with a fixed size. */
#define ENTRIES(name, bytes)                                                             \
    void push##name##_(const void *x) { push(x, bytes); }                                \
    void pop##name##_(void *x) { pop(x, bytes); }                                        \
    void push##name##array_(const void *x, const int *n) { push(x, many(n) * (bytes)); } \
    void pop##name##array_(void *x, const int *n) { pop(x, many(n) * (bytes)); }

ENTRIES(integer4, 4)
ENTRIES(integer8, 8)
ENTRIES(real4, 4)
ENTRIES(real8, 8)
ENTRIES(real16, 16)
ENTRIES(complex8, 8)
ENTRIES(complex16, 16)
ENTRIES(complex32, 32)
ENTRIES(boolean, 4)
ENTRIES(pointer4, 4)
ENTRIES(pointer8, 8)

/* The length of a CHARACTER argument is passed last, by value; of an array it is that of
 * one element, and the count of characters is given. */
void pushcharacter_(const void *x, size_t length)
{
    (void)length;
    push(x, 1);
}

void popcharacter_(void *x, size_t length)
{
    (void)length;
    pop(x, 1);
}

void pushcharacterarray_(const void *x, const int *n, size_t length)
{
    (void)length;
    push(x, many(n));
}

void popcharacterarray_(void *x, const int *n, size_t length)
{
    (void)length;
    pop(x, many(n));
}

/* Which way control took: up to eight bits, in a byte. */
#define CONTROL(bits)                                  \
    void pushcontrol##bits##b_(const int *way)         \
    {                                                  \
        unsigned char byte = (unsigned char)*way;      \
        push(&byte, 1);                                \
    }                                                  \
    void popcontrol##bits##b_(int *way)                \
    {                                                  \
        unsigned char byte;                            \
        pop(&byte, 1);                                 \
        *way = byte;                                   \
    }

CONTROL(1)
CONTROL(2)
CONTROL(3)
CONTROL(4)
CONTROL(5)
CONTROL(6)
CONTROL(7)
CONTROL(8)
