/* States of loops with `!farfel: checkpoint(n, disk = m)` in files. farfel-ad/src/reverse/disk.rs generates the
 * calls.
 *
 * A sweep is one execution of a loop, forward and backward. It has a folder of its own,
 *
 *   farfel-checkpoints/IDENTITY-NUMBER/    lock  state-1  state-2  ...  final  adjoint
 *
 * where the identity is a hash of the program, the loop, and all values that the loop starts from. So a process
 * that is started again with the same inputs finds the folder of one that was killed, and only then. The number
 * tells apart sweeps with the same identity that exist at the same time: each holds a lock on its folder, which
 * the system releases however the process ends.
 *
 * A file is written under the name `new`, synchronised with the disk, and then renamed. Its header has the
 * identity, the number of the state, the iteration and a checksum of everything. A file that is incomplete or
 * belongs to something else is not used.
 *
 * After an error, a sweep ignores all calls until the one that reports it; that one also ends the sweep. Its
 * files remain. */

#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

typedef int32_t Int;

/* ---- Hashes. ---- */

typedef struct {
    uint64_t a, b;
} Hash;

static const Hash START = {0x9E3779B97F4A7C15u, 0xC2B2AE3D27D4EB4Fu};

static uint64_t mixed(uint64_t h, uint64_t word, uint64_t with) {
    h = (h ^ word) * with;
    return h ^ (h >> 32);
}

static void hash_word(Hash *h, uint64_t word) {
    h->a = mixed(h->a, word, 0x9FB21C651E98DF25u);
    h->b = mixed(h->b + word, h->a, 0xD6E8FEB86659FD93u);
}

static void hash_bytes(Hash *h, const void *bytes, size_t length) {
    const unsigned char *p = bytes;
    uint64_t word;
    for (; length >= 8; p += 8, length -= 8) {
        memcpy(&word, p, 8);
        hash_word(h, word);
    }
    if (length) {
        word = 0;
        memcpy(&word, p, length);
        hash_word(h, word ^ ((uint64_t)length << 56));
    }
}

static int same(Hash x, Hash y) { return x.a == y.a && x.b == y.b; }

/* The hash of the file that this code was loaded from: the program, or a shared library. */
static Hash of_program;

static void hash_program(void) {
    Dl_info info;
    Hash h = START;
    const char *name = "/proc/self/exe";
    FILE *file = fopen(name, "rb");
    if (dladdr((void *)(intptr_t)hash_program, &info) && info.dli_fname && strchr(info.dli_fname, '/')) {
        FILE *library = fopen(info.dli_fname, "rb");
        if (library) {
            if (file) fclose(file);
            file = library;
        }
    }
    if (file) {
        static unsigned char buffer[1 << 16];
        size_t n;
        while ((n = fread(buffer, 1, sizeof buffer, file)) > 0) hash_bytes(&h, buffer, n);
        fclose(file);
    } else {
        /* An unknown program continues nothing. */
        struct timespec now;
        clock_gettime(CLOCK_REALTIME, &now);
        hash_word(&h, (uint64_t)now.tv_sec);
        hash_word(&h, (uint64_t)now.tv_nsec);
        hash_word(&h, (uint64_t)getpid());
    }
    of_program = h;
}

/* ---- Sweeps. ---- */

enum { NOTHING, HASHES, WRITES, READS };

/* The numbers of states that have their own names. */
enum { FINAL = 0, ADJOINT = -1 };

#define MAGIC "FARFELC1"

typedef struct {
    char magic[8];
    Hash identity, seeds;
    int64_t slot, step;
    uint64_t length;
    Hash sum;
} Header;

typedef struct {
    Int handle, steps, disk;
    char folder[3584];
    int lock;
    Hash identity, seeds, running;
    int mode, file;
    Int slot, step;
    uint64_t length;
    Header header;
    char name[4096];
    unsigned char *buffer;
    size_t filled, at;
    Int *found; /* the iterations of the states that were found */
    Int found_count;
    int failed;
    char text[512];
} Sweep;

enum { BUFFER = 1 << 20 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static Sweep **sweeps;
static Int sweep_count;

static Sweep *get(const Int *handle) {
    Sweep *s = NULL;
    pthread_mutex_lock(&mutex);
    if (*handle >= 1 && *handle <= sweep_count) s = sweeps[*handle - 1];
    pthread_mutex_unlock(&mutex);
    return s;
}

static void fail(Sweep *s, const char *format, ...) {
    va_list arguments;
    if (s->failed) return;
    s->failed = 1;
    va_start(arguments, format);
    vsnprintf(s->text, sizeof s->text, format, arguments);
    va_end(arguments);
}

static void fail_at(Sweep *s, const char *what, const char *name) {
    fail(s, "Farfel: cannot %s the checkpoint file %s: %s", what, name, strerror(errno));
}

/* Ends a sweep; its files remain. */
static void forget(Sweep *s) {
    if (s->file >= 0) close(s->file);
    if (s->lock >= 0) close(s->lock);
    pthread_mutex_lock(&mutex);
    sweeps[s->handle - 1] = NULL;
    pthread_mutex_unlock(&mutex);
    free(s->buffer);
    free(s->found);
    free(s);
}

/* Reports the error of a sweep, if there is one, and ends the sweep. */
static void report(Sweep *s, Int *status, char *text, size_t room) {
    const char *message = s ? s->text : "Farfel: no memory for checkpoint files";
    size_t length;
    *status = 0;
    if (s && !s->failed) return;
    *status = 1;
    length = strlen(message);
    memset(text, ' ', room);
    memcpy(text, message, length < room ? length : room);
    if (s) forget(s);
}

static void file_name(const Sweep *s, Int slot, char *into, size_t room) {
    switch (slot) {
    case FINAL: snprintf(into, room, "%s/final", s->folder); break;
    case ADJOINT: snprintf(into, room, "%s/adjoint", s->folder); break;
    default: snprintf(into, room, "%s/state-%d", s->folder, slot);
    }
}

/* Writes everything. A limit on the size of files (`ulimit -f`) is an error like a full disk, not the end of
 * the process by a signal. */
static int written(int file, const unsigned char *p, size_t length) {
    sigset_t limit, before, pending;
    int was_pending, failed = 0, number = 0;
    sigemptyset(&limit);
    sigaddset(&limit, SIGXFSZ);
    sigpending(&pending);
    was_pending = sigismember(&pending, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &limit, &before);
    while (length && !failed) {
        ssize_t n = write(file, p, length);
        if (n > 0) {
            p += n;
            length -= (size_t)n;
        } else if (n == 0 || errno != EINTR) {
            failed = 1;
            number = n == 0 ? ENOSPC : errno;
        }
    }
    if (failed && number == EFBIG && !was_pending) {
        int signal_number;
        sigpending(&pending);
        if (sigismember(&pending, SIGXFSZ)) sigwait(&limit, &signal_number);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = number;
    return !failed;
}

static int flushed(Sweep *s) {
    int done = written(s->file, s->buffer, s->filled);
    s->filled = 0;
    return done;
}

/* Reads as many bytes as there are, at most `length`. */
static size_t taken(int file, void *into, size_t length) {
    unsigned char *p = into;
    size_t all = 0;
    while (all < length) {
        ssize_t n = read(file, p + all, length - all);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) break;
        all += (size_t)n;
    }
    return all;
}

/* The start of a checksum: everything in the header. */
static Hash header_sum(const Header *h) {
    Hash sum = START;
    hash_word(&sum, h->identity.a);
    hash_word(&sum, h->identity.b);
    hash_word(&sum, h->seeds.a);
    hash_word(&sum, h->seeds.b);
    hash_word(&sum, (uint64_t)h->slot);
    hash_word(&sum, (uint64_t)h->step);
    hash_word(&sum, h->length);
    return sum;
}

/* The checksum of the values follows that of the header, which is complete only at the end. */
static Hash whole_sum(const Header *h, Hash values) {
    Hash sum = header_sum(h);
    hash_word(&sum, values.a);
    hash_word(&sum, values.b);
    return sum;
}

/* Opens the file of a state and reads its header. Returns whether it belongs to this sweep and has the right
 * length. */
static int opened(Sweep *s, Int slot) {
    struct stat st;
    file_name(s, slot, s->name, sizeof s->name);
    s->file = open(s->name, O_RDONLY | O_CLOEXEC);
    if (s->file < 0) return 0;
    if (taken(s->file, &s->header, sizeof s->header) == sizeof s->header &&
        !memcmp(s->header.magic, MAGIC, 8) && same(s->header.identity, s->identity) &&
        s->header.slot == slot && !fstat(s->file, &st) &&
        (uint64_t)st.st_size == sizeof s->header + s->header.length)
        return 1;
    close(s->file);
    s->file = -1;
    errno = EINVAL;
    return 0;
}

/* Returns whether the file of a state is complete. Its header is left in the sweep. */
static int is_complete(Sweep *s, Int slot) {
    Hash values = START;
    size_t n;
    if (!opened(s, slot)) return 0;
    while ((n = taken(s->file, s->buffer, BUFFER)) > 0) hash_bytes(&values, s->buffer, n);
    close(s->file);
    s->file = -1;
    return same(whole_sum(&s->header, values), s->header.sum);
}

/* ---- The folder of a sweep. ---- */

static int made(const char *folder) { return !mkdir(folder, 0777) || errno == EEXIST; }

static int made_all(char *folder) {
    char *p;
    for (p = folder + 1; *p; p++)
        if (*p == '/') {
            int done;
            *p = 0;
            done = made(folder);
            *p = '/';
            if (!done && errno != EROFS && errno != EACCES) return 0;
        }
    return made(folder);
}

/* Finds a folder that no other sweep uses, and locks it. */
static void settle(Sweep *s) {
    const char *named = getenv("FARFEL_CHECKPOINTS");
    char base[3072];
    int number, attempts;
    struct stat mine, there;
    if (!named || !*named) named = "farfel-checkpoints";
    if (*named == '/') {
        snprintf(base, sizeof base, "%s", named);
    } else {
        char here[2048];
        if (!getcwd(here, sizeof here)) snprintf(here, sizeof here, ".");
        snprintf(base, sizeof base, "%s/%s", here, named);
    }
    number = 1;
    for (attempts = 0; attempts < 10000; attempts++) {
        if (!made_all(base)) {
            fail(s, "Farfel: cannot make the folder for checkpoint files %s: %s", base, strerror(errno));
            return;
        }
        snprintf(s->folder, sizeof s->folder, "%s/%016llx%016llx-%d", base, (unsigned long long)s->identity.a,
                 (unsigned long long)s->identity.b, number);
        if (!made(s->folder)) {
            if (errno == ENOENT) continue;
            fail(s, "Farfel: cannot make the folder for checkpoint files %s: %s", s->folder, strerror(errno));
            return;
        }
        snprintf(s->name, sizeof s->name, "%s/lock", s->folder);
        s->lock = open(s->name, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
        if (s->lock < 0) {
            /* Another sweep with this identity has just ended. */
            if (errno == ENOENT) continue;
            fail_at(s, "make", s->name);
            return;
        }
        if (!flock(s->lock, LOCK_EX | LOCK_NB)) {
            if (!fstat(s->lock, &mine) && !stat(s->name, &there) && mine.st_ino == there.st_ino &&
                mine.st_dev == there.st_dev)
                return;
        } else if (errno == EWOULDBLOCK) {
            number++;
        } else {
            fail_at(s, "lock", s->name);
            return;
        }
        close(s->lock);
        s->lock = -1;
    }
    fail(s, "Farfel: cannot find a free folder for checkpoint files in %s", base);
}

/* Removes the files of a sweep, except for those of the states that were found, if they are to stay. */
static void clear(Sweep *s, int keep, int final) {
    DIR *folder = opendir(s->folder);
    struct dirent *entry;
    if (!folder) return;
    while ((entry = readdir(folder))) {
        int number;
        const char *name = entry->d_name;
        if (!strcmp(name, ".") || !strcmp(name, "..") || !strcmp(name, "lock")) continue;
        if (keep) {
            if (sscanf(name, "state-%d", &number) == 1 && number >= 1 && number <= s->found_count) continue;
            if (final && (!strcmp(name, "final") || !strcmp(name, "adjoint"))) continue;
        }
        unlinkat(dirfd(folder), name, 0);
    }
    closedir(folder);
}

/* ---- The calls. ---- */

/* Begins a sweep: the name of the loop, the number of iterations, and the numbers of states in memory and in
 * files. The values that the loop starts from follow, and then FIND. */
void farfel_checkpoint_open_(Int *handle, const char *name, const Int *steps, const Int *memory, const Int *disk,
                             size_t length) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    Sweep *s = calloc(1, sizeof *s), **more;
    Int at;
    *handle = 0;
    pthread_once(&once, hash_program);
    if (!s) return;
    s->file = s->lock = -1;
    s->steps = *steps;
    s->disk = *disk;
    s->buffer = malloc(BUFFER);
    s->found = calloc((size_t)*disk + 1, sizeof(Int));
    if (!s->buffer || !s->found) {
        free(s->buffer);
        free(s->found);
        free(s);
        return;
    }
    pthread_mutex_lock(&mutex);
    for (at = 0; at < sweep_count && sweeps[at]; at++)
        ;
    if (at == sweep_count) {
        more = realloc(sweeps, ((size_t)sweep_count + 1) * sizeof *sweeps);
        if (more) {
            sweeps = more;
            sweep_count++;
        }
    }
    if (at < sweep_count) {
        sweeps[at] = s;
        s->handle = *handle = at + 1;
    }
    pthread_mutex_unlock(&mutex);
    if (!*handle) {
        free(s->buffer);
        free(s->found);
        free(s);
        return;
    }
    s->mode = HASHES;
    s->running = START;
    hash_word(&s->running, of_program.a);
    hash_word(&s->running, of_program.b);
    hash_bytes(&s->running, name, length);
    hash_word(&s->running, (uint64_t)*steps);
    hash_word(&s->running, (uint64_t)*memory);
    hash_word(&s->running, (uint64_t)*disk);
}

/* Values of a state, or of what a state is identified by. */
static void values(const Int *handle, void *at, uint64_t count, size_t size) {
    Sweep *s = get(handle);
    unsigned char *p = at;
    size_t left = (size_t)(count * size);
    if (!s || s->failed) return;
    switch (s->mode) {
    case HASHES:
        hash_word(&s->running, count);
        hash_word(&s->running, size);
        hash_bytes(&s->running, p, left);
        return;
    case WRITES:
        s->length += left;
        while (left) {
            size_t n = BUFFER - s->filled;
            if (n > left) n = left;
            memcpy(s->buffer + s->filled, p, n);
            s->filled += n;
            p += n;
            left -= n;
            if (s->filled == BUFFER) {
                hash_bytes(&s->running, s->buffer, BUFFER);
                if (!flushed(s)) {
                    fail_at(s, "write", s->name);
                    return;
                }
            }
        }
        return;
    case READS:
        while (left) {
            size_t n = s->filled - s->at;
            if (n == 0) {
                s->at = 0;
                s->filled = taken(s->file, s->buffer, BUFFER);
                hash_bytes(&s->running, s->buffer, s->filled);
                if (s->filled == 0) {
                    fail(s, "Farfel: the checkpoint file %s has been changed", s->name);
                    return;
                }
                continue;
            }
            if (n > left) n = left;
            memcpy(p, s->buffer + s->at, n);
            s->at += n;
            p += n;
            left -= n;
        }
        return;
    }
}

#define VALUES(NAME, SIZE)                                                                                          \
    void farfel_checkpoint_##NAME##_(const Int *handle, void *at, const int64_t *count) {                           \
        values(handle, at, (uint64_t)*count, SIZE);                                                                 \
    }
VALUES(i1, 1)
VALUES(i2, 2)
VALUES(i4, 4)
VALUES(i8, 8)
VALUES(l1, 1)
VALUES(l2, 2)
VALUES(l4, 4)
VALUES(l8, 8)
VALUES(r4, 4)
VALUES(r8, 8)
VALUES(r10, 16)
VALUES(r16, 16)
VALUES(c4, 8)
VALUES(c8, 16)
VALUES(c10, 32)
VALUES(c16, 32)

void farfel_checkpoint_ch_(const Int *handle, void *at, const int64_t *count, size_t length) {
    (void)length;
    values(handle, at, (uint64_t)*count, 1);
}

/* Ends the values that the loop starts from. Returns the number of states in files that an earlier process has
 * left, and the iteration to begin with: that of the last state, one after the last if the state at the end is
 * there, and 1 if there is nothing. */
void farfel_checkpoint_find_(const Int *handle, Int *filed, Int *first, Int *status, char *text, size_t room) {
    Sweep *s = get(handle);
    int final = 0;
    *filed = 0;
    *first = 1;
    if (s) {
        s->identity = s->running;
        s->mode = NOTHING;
        settle(s);
        if (!s->failed) {
            Int last = 0, slot;
            for (slot = 1; slot <= s->disk && is_complete(s, slot) && s->header.step > last &&
                           s->header.step <= s->steps;
                 slot++) {
                last = s->found[slot - 1] = (Int)s->header.step;
                s->found_count = slot;
            }
            final = s->found_count > 0 && s->found[0] == 1 && is_complete(s, FINAL);
            if (s->found_count > 0 && s->found[0] != 1) s->found_count = 0;
            clear(s, 1, final);
            *filed = s->found_count;
            if (final) *first = s->steps + 1;
            else if (s->found_count) *first = s->found[s->found_count - 1];
        }
    }
    report(s, status, text, room);
}

/* Returns the iterations of the states that were found, and 0 as the place of each: a file. */
void farfel_checkpoint_found_(const Int *handle, Int *steps, Int *places) {
    Sweep *s = get(handle);
    Int i;
    for (i = 0; s && i < s->found_count; i++) {
        steps[i] = s->found[i];
        places[i] = 0;
    }
}

/* Begins to write a state. Its values follow, and then DONE. */
void farfel_checkpoint_write_(const Int *handle, const Int *slot, const Int *step) {
    Sweep *s = get(handle);
    Header empty;
    if (!s || s->failed) return;
    s->mode = WRITES;
    s->slot = *slot;
    s->step = *step;
    s->running = START;
    s->length = 0;
    s->filled = 0;
    snprintf(s->name, sizeof s->name, "%s/new", s->folder);
    s->file = open(s->name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    memset(&empty, 0, sizeof empty);
    if (s->file < 0) fail_at(s, "make", s->name);
    else if (!written(s->file, (unsigned char *)&empty, sizeof empty)) fail_at(s, "write", s->name);
}

/* Begins to read a state. Its values follow, and then DONE. */
void farfel_checkpoint_read_(const Int *handle, const Int *slot) {
    Sweep *s = get(handle);
    if (!s || s->failed) return;
    s->mode = READS;
    s->running = START;
    s->filled = s->at = 0;
    if (!opened(s, *slot)) fail_at(s, "read", s->name);
}

/* Completes the file that is written. */
static void complete(Sweep *s) {
    char name[4096];
    int folder;
    hash_bytes(&s->running, s->buffer, s->filled);
    if (!flushed(s)) {
        fail_at(s, "write", s->name);
        return;
    }
    memcpy(s->header.magic, MAGIC, 8);
    s->header.identity = s->identity;
    s->header.seeds = s->seeds;
    s->header.slot = s->slot;
    s->header.step = s->step;
    s->header.length = s->length;
    s->header.sum = whole_sum(&s->header, s->running);
    if (lseek(s->file, 0, SEEK_SET) != 0 ||
        !written(s->file, (unsigned char *)&s->header, sizeof s->header) || fsync(s->file)) {
        fail_at(s, "write", s->name);
        return;
    }
    if (close(s->file)) {
        s->file = -1;
        fail_at(s, "write", s->name);
        return;
    }
    s->file = -1;
    file_name(s, s->slot, name, sizeof name);
    if (rename(s->name, name)) {
        fail_at(s, "write", name);
        return;
    }
    folder = open(s->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder >= 0) {
        fsync(folder);
        close(folder);
    }
}

void farfel_checkpoint_done_(const Int *handle, Int *status, char *text, size_t room) {
    Sweep *s = get(handle);
    if (s) {
        int mode = s->mode;
        s->mode = NOTHING;
        if (!s->failed && mode == WRITES) complete(s);
        if (!s->failed && mode == READS &&
            (s->at != s->filled || !same(whole_sum(&s->header, s->running), s->header.sum)))
            fail(s, "Farfel: the checkpoint file %s has been changed", s->name);
        if (s->failed && mode == WRITES) {
            /* Free what a full disk has left of it. */
            snprintf(s->name, sizeof s->name, "%s/new", s->folder);
            unlink(s->name);
        }
        if (s->file >= 0) close(s->file);
        s->file = -1;
    }
    report(s, status, text, room);
}

/* Begins the values that the reverse sweep starts from. They follow, and then RESUME. */
void farfel_checkpoint_seeds_(const Int *handle) {
    Sweep *s = get(handle);
    if (!s || s->failed) return;
    s->mode = HASHES;
    s->running = START;
}

/* Returns the iteration that is reversed next. If it is not the last one, the cotangents at its end are the state
 * with the number -1, which an earlier process has left. */
void farfel_checkpoint_resume_(const Int *handle, Int *last, Int *status, char *text, size_t room) {
    Sweep *s = get(handle);
    if (s) {
        s->mode = NOTHING;
        s->seeds = s->running;
        *last = s->steps;
        if (!s->failed && is_complete(s, ADJOINT) && same(s->header.seeds, s->seeds) && s->header.step >= 0 &&
            s->header.step < s->steps)
            *last = (Int)s->header.step;
    }
    report(s, status, text, room);
}

/* Removes a state. The first one is needed up to the end. */
void farfel_checkpoint_drop_(const Int *handle, const Int *slot) {
    Sweep *s = get(handle);
    char name[4096];
    if (!s || s->failed || *slot <= 1) return;
    file_name(s, *slot, name, sizeof name);
    unlink(name);
}

/* Ends a sweep and removes its files. */
void farfel_checkpoint_close_(const Int *handle) {
    Sweep *s = get(handle);
    const char *named = getenv("FARFEL_CHECKPOINTS");
    char *end;
    if (!s) return;
    clear(s, 0, 0);
    snprintf(s->name, sizeof s->name, "%s/lock", s->folder);
    unlink(s->name);
    rmdir(s->folder);
    end = strrchr(s->folder, '/');
    if (end && (!named || !*named)) {
        /* The folder of all sweeps goes with the last one, unless the user has chosen it. */
        *end = 0;
        rmdir(s->folder);
    }
    forget(s);
}
