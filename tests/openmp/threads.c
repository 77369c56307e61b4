/* The procedures of GCC's run-time library for OpenMP that generated programs call, with the threads of
 * POSIX. ThreadSanitizer does not see what the real library does, and would report races between statements
 * that it orders. It sees everything here: starts and ends of threads, barriers and locks order statements, and
 * nothing else does. Threads take iterations in turns, whatever the schedule is, so that each has some. */

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

enum { MOST_THREADS = 64 };

typedef void (*Body)(void *);

typedef struct {
    int size;
    Body body;
    void *data;
    pthread_barrier_t barrier;
} Team;

/* What a thread knows. */
typedef struct {
    Team *team;
    int number;
    /* The current loop or sections, and the next iteration that the thread takes, counted from 0. */
    long start, end, step, chunk, next;
} Thread;

static __thread Thread this;

static int wanted(void) {
    const char *text = getenv("OMP_NUM_THREADS");
    int n = text ? atoi(text) : 4;
    return n < 1 ? 1 : n > MOST_THREADS ? MOST_THREADS : n;
}

typedef struct {
    Team *team;
    Thread thread;
} Start;

static void *run(void *start) {
    Start *s = start;
    this = s->thread;
    s->team->body(s->team->data);
    return NULL;
}

static void parallel(Body body, void *data, unsigned threads, Thread of_loop) {
    Thread outer = this;
    int size = outer.team ? 1 : threads ? (int)threads : wanted();
    if (size > MOST_THREADS) size = MOST_THREADS;
    Team team = {.size = size, .body = body, .data = data};
    pthread_barrier_init(&team.barrier, NULL, size);
    Start starts[MOST_THREADS];
    pthread_t others[MOST_THREADS];
    of_loop.team = &team;
    for (int i = 0; i < size; i++) {
        of_loop.number = i;
        of_loop.next = i * of_loop.chunk;
        starts[i] = (Start){&team, of_loop};
    }
    for (int i = 1; i < size; i++)
        if (pthread_create(&others[i], NULL, run, &starts[i])) abort();
    run(&starts[0]);
    for (int i = 1; i < size; i++) pthread_join(others[i], NULL);
    pthread_barrier_destroy(&team.barrier);
    this = outer;
}

void GOMP_parallel(Body body, void *data, unsigned threads, unsigned flags) {
    (void)flags;
    parallel(body, data, threads, (Thread){0});
}

/* ---- Loops. ---- */

static Thread loop(long start, long end, long step, long chunk) {
    return (Thread){.start = start, .end = end, .step = step, .chunk = chunk < 1 ? 1 : chunk};
}

static int size_of_team(void) { return this.team ? this.team->size : 1; }

static void begin(long start, long end, long step, long chunk) {
    this.start = start;
    this.end = end;
    this.step = step;
    this.chunk = chunk < 1 ? 1 : chunk;
    this.next = this.number * this.chunk;
}

static bool next(long *from, long *to) {
    long count = (this.end - this.start + this.step - (this.step > 0 ? 1 : -1)) / this.step;
    long first = this.next;
    if (first >= count) return false;
    this.next += size_of_team() * this.chunk;
    long last = first + this.chunk < count ? first + this.chunk : count;
    *from = this.start + first * this.step;
    *to = this.start + last * this.step;
    return true;
}

#define LOOP(KIND)                                                                                          \
    bool GOMP_loop_##KIND##_start(long start, long end, long step, long chunk, long *from, long *to) {      \
        begin(start, end, step, chunk);                                                                     \
        return next(from, to);                                                                              \
    }                                                                                                       \
    bool GOMP_loop_##KIND##_next(long *from, long *to) { return next(from, to); }                           \
    void GOMP_parallel_loop_##KIND(Body body, void *data, unsigned threads, long start, long end, long step, \
                                   long chunk, unsigned flags) {                                            \
        (void)flags;                                                                                        \
        parallel(body, data, threads, loop(start, end, step, chunk));                                       \
    }

#define LOOP_AT_RUN_TIME(KIND)                                                                              \
    bool GOMP_loop_##KIND##_start(long start, long end, long step, long *from, long *to) {                  \
        begin(start, end, step, 1);                                                                         \
        return next(from, to);                                                                              \
    }                                                                                                       \
    bool GOMP_loop_##KIND##_next(long *from, long *to) { return next(from, to); }                           \
    void GOMP_parallel_loop_##KIND(Body body, void *data, unsigned threads, long start, long end, long step, \
                                   unsigned flags) {                                                        \
        (void)flags;                                                                                        \
        parallel(body, data, threads, loop(start, end, step, 1));                                           \
    }

LOOP(static)
LOOP(dynamic)
LOOP(guided)
LOOP(nonmonotonic_dynamic)
LOOP(nonmonotonic_guided)
LOOP_AT_RUN_TIME(runtime)
LOOP_AT_RUN_TIME(nonmonotonic_runtime)
LOOP_AT_RUN_TIME(maybe_nonmonotonic_runtime)

/* ---- Sections and single. ---- */

unsigned GOMP_sections_next(void) {
    long first, last;
    return next(&first, &last) ? (unsigned)first + 1 : 0;
}

unsigned GOMP_sections_start(unsigned count) {
    begin(0, count, 1, 1);
    return GOMP_sections_next();
}

void GOMP_parallel_sections(Body body, void *data, unsigned threads, unsigned count, unsigned flags) {
    (void)flags;
    parallel(body, data, threads, loop(0, count, 1, 1));
}

/* The last thread, as MASTER is about the first one. */
bool GOMP_single_start(void) { return this.number == size_of_team() - 1; }

/* ---- What orders statements. ---- */

void GOMP_barrier(void) {
    if (this.team && this.team->size > 1) pthread_barrier_wait(&this.team->barrier);
}

void GOMP_loop_end(void) { GOMP_barrier(); }
void GOMP_loop_end_nowait(void) {}
void GOMP_sections_end(void) { GOMP_barrier(); }
void GOMP_sections_end_nowait(void) {}

static pthread_mutex_t critical = PTHREAD_MUTEX_INITIALIZER, named = PTHREAD_MUTEX_INITIALIZER,
                       atomic = PTHREAD_MUTEX_INITIALIZER;

void GOMP_critical_start(void) { pthread_mutex_lock(&critical); }
void GOMP_critical_end(void) { pthread_mutex_unlock(&critical); }
void GOMP_critical_name_start(void **name) { (void)name, pthread_mutex_lock(&named); }
void GOMP_critical_name_end(void **name) { (void)name, pthread_mutex_unlock(&named); }
void GOMP_atomic_start(void) { pthread_mutex_lock(&atomic); }
void GOMP_atomic_end(void) { pthread_mutex_unlock(&atomic); }

/* ---- Questions. ---- */

int omp_get_thread_num(void) { return this.number; }
int omp_get_num_threads(void) { return size_of_team(); }
int omp_get_max_threads(void) { return wanted(); }
int omp_in_parallel(void) { return this.team && this.team->size > 1; }
