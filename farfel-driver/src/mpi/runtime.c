/* Calls of MPI in programs with derivatives. farfel_ad::mpi has the table of the calls and their arguments.
 *
 * For each call there are three functions with the arguments of the Fortran binding:
 *
 *   FARFEL_MPI_SEND      the call itself, as the forward sweep of an adjoint makes it: it also remembers what
 *                        the reverse sweep has to know
 *   FARFEL_MPI_SEND_D    the call and its tangent
 *   FARFEL_MPI_SEND_B    its adjoint
 *
 * In the last two, each argument with a derivative is followed by it. The last argument, the channel, stands
 * for all messages in flight; only analyses need it, and nothing is done with it here.
 *
 * A message and its tangent travel as one message, so that they cannot be taken for other ones. An adjoint
 * travels in the opposite direction, with a tag of its own. Sources: J. Utke, L. Hascoet, P. Heimbach, C. Hill,
 * P. Hovland and U. Naumann, "Toward adjoinable MPI", IPDPS 2009; M. Schanen, U. Naumann, L. Hascoet and
 * J. Utke, "Interpretative adjoints for numerical simulation codes using MPI", ICCS 2010. */

#include <mpi.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef MPI_Fint Int;

/* ---- The end of the program. ---- */

static int rank_of_this(void) {
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank;
}

static int aborting = 0;

static void abort_all(const char *message) {
    aborting = 1;
    fflush(stdout);
    fprintf(stderr, "farfel: rank %d: %s\n", rank_of_this(), message);
    fflush(stderr);
    /* What the launcher has not read when it ends the ranks is lost. */
    nanosleep(&(struct timespec){.tv_nsec = 200000000}, NULL);
    MPI_Abort(MPI_COMM_WORLD, 1);
    _Exit(1);
}

static void at_exit(void) {
    int begun = 0, ended = 0;
    MPI_Initialized(&begun);
    if (begun) MPI_Finalized(&ended);
    if (begun && !ended && !aborting)
        abort_all("the program ends before MPI_FINALIZE (STOP, or an error); all ranks are ended");
}

/* Other ranks would wait forever for one that has stopped. */
__attribute__((constructor)) static void watch_the_end(void) { atexit(at_exit); }

static void *grab(size_t bytes) {
    void *memory = calloc(bytes ? bytes : 1, 1);
    if (!memory) abort_all("no memory for the derivative of a message");
    return memory;
}

/* ---- Communicators. ----
 *
 * The program has run an ADR block before its forward sweep runs, perhaps still does on another rank, and a
 * faster rank may be in its reverse sweep. With MPI_ANY_SOURCE, messages could be taken for those of another
 * run. So each communicator has two companions, for the messages of forward and reverse sweeps. They are made
 * where the communicator is, as that is collective. */

typedef struct {
    MPI_Comm forward, reverse;
} Companions;

static int companions_key = MPI_KEYVAL_INVALID;

static int free_companions(MPI_Comm comm, int key, void *value, void *extra) {
    Companions *c = value;
    (void)key;
    (void)extra;
    /* MPI_FINALIZE does not need this. */
    if (comm != MPI_COMM_WORLD) {
        MPI_Comm_free(&c->forward);
        MPI_Comm_free(&c->reverse);
    }
    free(c);
    return MPI_SUCCESS;
}

static void give_companions(MPI_Comm comm) {
    int other = 0;
    if (comm == MPI_COMM_NULL) return;
    MPI_Comm_test_inter(comm, &other);
    if (other) return;
    if (companions_key == MPI_KEYVAL_INVALID)
        MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, free_companions, &companions_key, NULL);
    Companions *c = grab(sizeof *c);
    PMPI_Comm_dup(comm, &c->forward);
    PMPI_Comm_dup(comm, &c->reverse);
    MPI_Comm_set_attr(comm, companions_key, c);
}

/* Returns the companions of a communicator; NULL if C or Rust has made it. */
static const Companions *companions(MPI_Comm comm) {
    void *found = NULL;
    int any = 0;
    if (companions_key != MPI_KEYVAL_INVALID) MPI_Comm_get_attr(comm, companions_key, &found, &any);
    return any ? found : NULL;
}

static MPI_Comm forward_comm(const Int *comm) {
    MPI_Comm c = MPI_Comm_f2c(*comm);
    const Companions *own = companions(c);
    return own ? own->forward : c;
}

static MPI_Comm reverse_comm(MPI_Comm comm) {
    const Companions *own = companions(comm);
    return own ? own->reverse : comm;
}

/* The procedures by which Fortran makes communicators: MPI has each with another name, for tools like this. */
#define MAKES(NAME, PARAMETERS, ARGUMENTS, MADE)                      \
    extern void pmpi_##NAME##_ PARAMETERS;                            \
    void mpi_##NAME##_ PARAMETERS {                                   \
        pmpi_##NAME##_ ARGUMENTS;                                     \
        if (*ierror == MPI_SUCCESS) give_companions(MADE);            \
    }

MAKES(init, (Int * ierror), (ierror), MPI_COMM_WORLD)
MAKES(init_thread, (Int * wanted, Int *given, Int *ierror), (wanted, given, ierror), MPI_COMM_WORLD)
MAKES(comm_dup, (Int * old, Int *made, Int *ierror), (old, made, ierror), MPI_Comm_f2c(*made))
MAKES(comm_split, (Int * old, Int *color, Int *key, Int *made, Int *ierror), (old, color, key, made, ierror),
      MPI_Comm_f2c(*made))
MAKES(comm_split_type, (Int * old, Int *type, Int *key, Int *info, Int *made, Int *ierror),
      (old, type, key, info, made, ierror), MPI_Comm_f2c(*made))
MAKES(comm_create, (Int * old, Int *group, Int *made, Int *ierror), (old, group, made, ierror), MPI_Comm_f2c(*made))
MAKES(comm_create_group, (Int * old, Int *group, Int *tag, Int *made, Int *ierror), (old, group, tag, made, ierror),
      MPI_Comm_f2c(*made))
MAKES(intercomm_merge, (Int * old, Int *high, Int *made, Int *ierror), (old, high, made, ierror), MPI_Comm_f2c(*made))
MAKES(cart_create, (Int * old, Int *n, Int *sizes, Int *periods, Int *reorder, Int *made, Int *ierror),
      (old, n, sizes, periods, reorder, made, ierror), MPI_Comm_f2c(*made))
MAKES(cart_sub, (Int * old, Int *kept, Int *made, Int *ierror), (old, kept, made, ierror), MPI_Comm_f2c(*made))
MAKES(graph_create, (Int * old, Int *n, Int *index, Int *edges, Int *reorder, Int *made, Int *ierror),
      (old, n, index, edges, reorder, made, ierror), MPI_Comm_f2c(*made))

/* ---- Numbers. ---- */

/* The type of the numbers in a buffer. */
typedef struct {
    MPI_Datatype mpi;
    size_t size;
    /* The numbers are pairs of real ones. */
    int complex;
    int is_double;
} Kind;

static Kind kind_of(const Int *type) {
    MPI_Datatype t = MPI_Type_f2c(*type);
    if (t == MPI_REAL || t == MPI_REAL4) return (Kind){t, 4, 0, 0};
    if (t == MPI_DOUBLE_PRECISION || t == MPI_REAL8) return (Kind){t, 8, 0, 1};
    if (t == MPI_COMPLEX || t == MPI_COMPLEX8) return (Kind){t, 8, 1, 0};
    if (t == MPI_DOUBLE_COMPLEX || t == MPI_COMPLEX16) return (Kind){t, 16, 1, 1};
    abort_all("a message with a derivative has a datatype other than MPI_REAL, MPI_DOUBLE_PRECISION, MPI_COMPLEX, "
              "MPI_DOUBLE_COMPLEX and their synonyms; copy the numbers to consecutive elements and send those");
    return (Kind){t, 0, 0, 0};
}

static void *copy_of(Kind k, size_t n, const void *from) {
    void *copy = grab(n * k.size);
    if (n) memcpy(copy, from, n * k.size);
    return copy;
}

static char *at(Kind k, void *base, ptrdiff_t i) { return (char *)base + i * (ptrdiff_t)k.size; }

static void set_zero(Kind k, size_t n, void *x) {
    if (n) memset(x, 0, n * k.size);
}

static size_t reals(Kind k, size_t n) { return k.complex ? 2 * n : n; }

static void add(Kind k, size_t n, void *to, const void *from) {
    n = reals(k, n);
    if (k.is_double)
        for (size_t i = 0; i < n; i++) ((double *)to)[i] += ((const double *)from)[i];
    else
        for (size_t i = 0; i < n; i++) ((float *)to)[i] += ((const float *)from)[i];
}

static double get(Kind k, const void *x, size_t i) {
    return k.is_double ? ((const double *)x)[i] : ((const float *)x)[i];
}

static void put(Kind k, void *x, size_t i, double value) {
    if (k.is_double) ((double *)x)[i] = value;
    else ((float *)x)[i] = (float)value;
}

/* x = x*y, or conj(x)*y for adjoints */
static void multiply(Kind k, size_t n, void *x, const void *y, int adjoint) {
    if (!k.complex) {
        for (size_t i = 0; i < n; i++) put(k, x, i, get(k, x, i) * get(k, y, i));
        return;
    }
    for (size_t i = 0; i < n; i++) {
        double a = get(k, x, 2 * i), b = get(k, x, 2 * i + 1);
        double c = get(k, y, 2 * i), d = get(k, y, 2 * i + 1);
        if (adjoint) b = -b;
        put(k, x, 2 * i, a * c - b * d);
        put(k, x, 2 * i + 1, a * d + b * c);
    }
}

/* ---- Messages. ---- */

enum State { OPEN, READY, SENT };

/* What is known of an ISEND, IRECV, RECV, or the second half of a SENDRECV. */
typedef struct {
    int receives;
    Kind kind;
    /* The number of elements; of a message that was received, the actual one. Likewise the peer and the tag. */
    int count, peer, tag;
    MPI_Comm comm;
    /* Of a message in flight: the Fortran handle of its request, and the tangent if there is one. */
    Int handle;
    void *buffer, *tangent, *packed;
    /* Where the buffer of an IRECV begins: in the variable with this number. */
    Int variable;
    ptrdiff_t offset;
    /* Of a message that was received: whether its adjoint can be sent, and the adjoint. */
    enum State state;
    void *adjoint, *adjoint_of;
    MPI_Request request;
} Message;

typedef struct {
    void **items;
    size_t length, room;
} List;

static void append(List *list, void *item) {
    if (list->length == list->room) {
        list->room = list->room ? 2 * list->room : 64;
        list->items = realloc(list->items, list->room * sizeof *list->items);
        if (!list->items) abort_all("no memory for the record of messages");
    }
    list->items[list->length++] = item;
}

/* The messages of the forward sweep in the order in which they were begun, until their adjoints are done. */
static List begun;
/* The completed messages of each WAIT of the forward sweep. */
static List waits;
/* The messages with derivatives in flight. */
static List in_flight;
/* The adjoints that are being sent, and whose records are needed for nothing else. */
static List leaving;

static Message *message(int receives, Kind kind, int count, int peer, int tag, MPI_Comm comm) {
    Message *m = grab(sizeof *m);
    m->receives = receives;
    m->kind = kind;
    m->count = count;
    m->peer = peer;
    m->tag = tag;
    m->comm = comm;
    m->request = MPI_REQUEST_NULL;
    return m;
}

/* Returns the last message that was begun, whose adjoint comes now. */
static Message *last_begun(int receives) {
    Message *m = begun.length ? begun.items[--begun.length] : NULL;
    if (!m || m->receives != receives)
        abort_all("the reverse sweep does not fit the forward sweep: please report this as a bug of Farfel");
    return m;
}

/* Stores a status for Fortran. */
static void give_status(const MPI_Status *from, Int *to, const Int *keep) {
    if (*keep) MPI_Status_c2f(from, to);
}

/* Without companions, adjoints have tags of their own. */
static int adjoint_tag(MPI_Comm comm, int tag) {
    if (companions(comm)) return tag;
    int *most = NULL, found = 0;
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &most, &found);
    int first = (found ? *most : 32767) / 2 + 1;
    if (tag >= first) abort_all("the tag of a message with an adjoint is more than half of MPI_TAG_UB; use smaller tags");
    return tag + first;
}

/* Notes what was actually received. */
static void received(Message *m, const MPI_Status *status) {
    MPI_Get_count(status, m->kind.mpi, &m->count);
    m->peer = status->MPI_SOURCE;
    m->tag = status->MPI_TAG;
    if (m->peer == MPI_PROC_NULL) {
        m->count = 0;
        m->state = SENT;
    } else {
        /* Without companions, MPI_ANY_TAG can match an adjoint that another rank has already sent. */
        adjoint_tag(m->comm, m->tag);
    }
}

static void sweep_leaving(void) {
    size_t left = 0;
    for (size_t i = 0; i < leaving.length; i++) {
        Message *m = leaving.items[i];
        int done = 1;
        MPI_Test(&m->request, &done, MPI_STATUS_IGNORE);
        if (done) {
            free(m->adjoint);
            free(m);
        } else {
            leaving.items[left++] = m;
        }
    }
    leaving.length = left;
}

static int same_way(const Message *a, const Message *b) {
    return a->peer == b->peer && a->tag == b->tag && a->comm == b->comm;
}

/* The number of messages whose adjoints are ready and not yet sent. */
static size_t ready;

/* Sends the adjoints that are ready. Messages between two ranks with one tag do not overtake each other, and
 * neither may their adjoints: the last one goes first. */
static void send_ready(void) {
    size_t left = ready;
    for (size_t i = begun.length; left && i-- > 0;) {
        Message *m = begun.items[i];
        if (!m->receives || m->state != READY) continue;
        left--;
        int waits_for_other = 0;
        for (size_t j = i + 1; j < begun.length && !waits_for_other; j++) {
            Message *later = begun.items[j];
            waits_for_other = later->receives && later->state != SENT && same_way(m, later);
        }
        if (waits_for_other) continue;
        MPI_Isend(m->adjoint, m->count, m->kind.mpi, m->peer, adjoint_tag(m->comm, m->tag),
                  reverse_comm(m->comm), &m->request);
        m->state = SENT;
        ready--;
    }
}

/* The adjoint of a message that was received is final: it is taken, set to zero, and sent back. */
static void send_adjoint(Message *m, void *adjoint) {
    sweep_leaving();
    if (m->state != OPEN) return;
    m->adjoint = copy_of(m->kind, m->count, adjoint);
    m->adjoint_of = adjoint;
    set_zero(m->kind, m->count, adjoint);
    m->state = READY;
    ready++;
    send_ready();
}

/* Forgets a message that was received. Its adjoint may still be on its way. */
static void leave(Message *m) {
    append(&leaving, m);
    sweep_leaving();
}

/* Receives the adjoint of a message that was sent, and adds it. */
static void receive_adjoint(Kind k, int count, int peer, int tag, MPI_Comm comm, void *adjoint) {
    if (peer == MPI_PROC_NULL) return;
    void *got = grab(count * k.size);
    MPI_Recv(got, count, k.mpi, peer, adjoint_tag(comm, tag), reverse_comm(comm), MPI_STATUS_IGNORE);
    add(k, count, adjoint, got);
    free(got);
}

/* ---- A message and its tangent in one message, followed by a mark. ---- */

static const char MARK[16] = "FARFEL TANGENT ";

static size_t packed_count(size_t n) { return 2 * n + 1; }

static void *pack(Kind k, size_t n, const void *values, const void *tangents) {
    char *packed = grab(packed_count(n) * k.size);
    if (n) memcpy(packed, values, n * k.size);
    if (n) memcpy(packed + n * k.size, tangents, n * k.size);
    memcpy(packed + 2 * n * k.size, MARK, k.size);
    return packed;
}

/* Takes values and tangents from a message, and corrects its length in the status. */
static void unpack(Kind k, MPI_Status *status, const void *message, void *values, void *tangents) {
    if (status->MPI_SOURCE == MPI_PROC_NULL) return;
    const char *packed = message;
    int count = 0;
    MPI_Get_count(status, k.mpi, &count);
    if (count % 2 != 1 || memcmp(packed + (count - 1) * k.size, MARK, k.size) != 0)
        abort_all("a message was received without its tangent: the other rank sent it outside of the AD block, or with "
                  "another datatype; both ends of a message must be in the block");
    size_t n = (count - 1) / 2;
    if (n) memcpy(values, packed, n * k.size);
    if (n) memcpy(tangents, packed + n * k.size, n * k.size);
    MPI_Status_set_elements(status, k.mpi, (int)n);
}

/* ---- SEND and RECV. ---- */

void farfel_mpi_send_(void *buf, Int *count, Int *type, Int *dest, Int *tag, Int *comm, Int *ierror, void *ch) {
    *ierror = MPI_Send(buf, *count, kind_of(type).mpi, *dest, *tag, forward_comm(comm));
}

void farfel_mpi_send_d_(void *buf, void *bufd, Int *count, Int *type, Int *dest, Int *tag, Int *comm, Int *ierror, void *ch,
                        void *chd) {
    Kind k = kind_of(type);
    void *packed = pack(k, *count, buf, bufd);
    *ierror = MPI_Send(packed, packed_count(*count), k.mpi, *dest, *tag, MPI_Comm_f2c(*comm));
    free(packed);
}

void farfel_mpi_send_b_(void *buf, void *bufb, Int *count, Int *type, Int *dest, Int *tag, Int *comm, Int *ierror, void *ch,
                        void *chb) {
    receive_adjoint(kind_of(type), *count, *dest, *tag, MPI_Comm_f2c(*comm), bufb);
}

void farfel_mpi_recv_(void *buf, Int *count, Int *type, Int *source, Int *tag, Int *comm, Int *st, Int *ierror, Int *keep,
                      void *ch) {
    Message *m = message(1, kind_of(type), *count, *source, *tag, MPI_Comm_f2c(*comm));
    MPI_Status status;
    *ierror = MPI_Recv(buf, *count, m->kind.mpi, *source, *tag, forward_comm(comm), &status);
    received(m, &status);
    give_status(&status, st, keep);
    append(&begun, m);
}

void farfel_mpi_recv_d_(void *buf, void *bufd, Int *count, Int *type, Int *source, Int *tag, Int *comm, Int *st, Int *ierror,
                        Int *keep, void *ch, void *chd) {
    Kind k = kind_of(type);
    MPI_Status status;
    void *packed = grab(packed_count(*count) * k.size);
    *ierror = MPI_Recv(packed, packed_count(*count), k.mpi, *source, *tag, MPI_Comm_f2c(*comm), &status);
    unpack(k, &status, packed, buf, bufd);
    give_status(&status, st, keep);
    free(packed);
}

void farfel_mpi_recv_b_(void *buf, void *bufb, Int *count, Int *type, Int *source, Int *tag, Int *comm, Int *st, Int *ierror,
                        Int *keep, void *ch, void *chb) {
    if (!begun.length) last_begun(1);
    send_adjoint(begun.items[begun.length - 1], bufb);
    leave(last_begun(1));
}

/* ---- SENDRECV. ---- */

void farfel_mpi_sendrecv_(void *sbuf, Int *scount, Int *stype, Int *dest, Int *stag, void *rbuf, Int *rcount, Int *rtype,
                          Int *source, Int *rtag, Int *comm, Int *st, Int *ierror, Int *keep, void *ch) {
    Message *m = message(1, kind_of(rtype), *rcount, *source, *rtag, MPI_Comm_f2c(*comm));
    MPI_Status status;
    *ierror = MPI_Sendrecv(sbuf, *scount, kind_of(stype).mpi, *dest, *stag, rbuf, *rcount, m->kind.mpi, *source, *rtag,
                           forward_comm(comm), &status);
    received(m, &status);
    give_status(&status, st, keep);
    append(&begun, m);
}

void farfel_mpi_sendrecv_d_(void *sbuf, void *sbufd, Int *scount, Int *stype, Int *dest, Int *stag, void *rbuf, void *rbufd,
                            Int *rcount, Int *rtype, Int *source, Int *rtag, Int *comm, Int *st, Int *ierror, Int *keep,
                            void *ch, void *chd) {
    Kind sk = kind_of(stype), rk = kind_of(rtype);
    MPI_Status status;
    void *sent = pack(sk, *scount, sbuf, sbufd);
    void *got = grab(packed_count(*rcount) * rk.size);
    *ierror = MPI_Sendrecv(sent, packed_count(*scount), sk.mpi, *dest, *stag, got, packed_count(*rcount), rk.mpi, *source,
                           *rtag, MPI_Comm_f2c(*comm), &status);
    unpack(rk, &status, got, rbuf, rbufd);
    give_status(&status, st, keep);
    free(sent);
    free(got);
}

void farfel_mpi_sendrecv_b_(void *sbuf, void *sbufb, Int *scount, Int *stype, Int *dest, Int *stag, void *rbuf, void *rbufb,
                            Int *rcount, Int *rtype, Int *source, Int *rtag, Int *comm, Int *st, Int *ierror, Int *keep,
                            void *ch, void *chb) {
    if (!begun.length) last_begun(1);
    send_adjoint(begun.items[begun.length - 1], rbufb);
    leave(last_begun(1));
    receive_adjoint(kind_of(stype), *scount, *dest, *stag, MPI_Comm_f2c(*comm), sbufb);
}

/* ---- ISEND, IRECV and WAIT. ----
 *
 * An IRECV's adjoint is sent when the reverse sweep comes to the WAIT, and an ISEND's received when it comes to
 * the ISEND. The WAIT has only a request. So before an IRECV, BASE tells which variable its buffer is a part
 * of, and after a WAIT, WAITED tells the variables of the IRECVs that it can belong to; their adjoints are
 * known when the reverse sweep comes to the WAIT. */

static Int base_variable;

/* Where variables begin, by their numbers. */
static List bases;

static void *of_variable(const List *list, Int variable) {
    return variable >= 0 && (size_t)variable < list->length ? list->items[variable] : NULL;
}

static void set_variable(List *list, Int variable, void *address) {
    while (list->length <= (size_t)variable) append(list, NULL);
    list->items[variable] = address;
}

/* A subprogram that only begins a message passes a negative number: the one that also completes it has named
 * the variable, of which this base may be a part. */
void farfel_mpi_base_(Int *variable, void *base) {
    base_variable = *variable < 0 ? -*variable : *variable;
    if (*variable >= 0) set_variable(&bases, *variable, base);
}

/* The adjoints of variables, by their numbers. */
static List adjoints;

void farfel_mpi_waited_(Int *variable, void *base, void *ch) {}

void farfel_mpi_waited_d_(Int *variable, void *base, void *based, void *ch, void *chd) {}

void farfel_mpi_waited_b_(Int *variable, void *base, void *baseb, void *ch, void *chb) {
    set_variable(&adjoints, *variable, baseb);
}

/* Messages from and to MPI_PROC_NULL may share a request. They carry nothing. */
static void begin(Message *m, MPI_Request request, Int *handle) {
    *handle = MPI_Request_c2f(request);
    m->handle = *handle;
    if (m->peer != MPI_PROC_NULL) {
        append(&in_flight, m);
        return;
    }
    m->count = 0;
    m->state = SENT;
    if (m->packed) {
        free(m->packed);
        free(m);
    }
}

void farfel_mpi_isend_(void *buf, Int *count, Int *type, Int *dest, Int *tag, Int *comm, Int *request, Int *ierror,
                       void *ch) {
    Message *m = message(0, kind_of(type), *count, *dest, *tag, MPI_Comm_f2c(*comm));
    MPI_Request r;
    *ierror = MPI_Isend(buf, *count, m->kind.mpi, *dest, *tag, forward_comm(comm), &r);
    begin(m, r, request);
    append(&begun, m);
}

void farfel_mpi_isend_d_(void *buf, void *bufd, Int *count, Int *type, Int *dest, Int *tag, Int *comm, Int *request,
                         Int *ierror, void *ch, void *chd) {
    Message *m = message(0, kind_of(type), *count, *dest, *tag, MPI_Comm_f2c(*comm));
    MPI_Request r;
    m->packed = pack(m->kind, *count, buf, bufd);
    *ierror = MPI_Isend(m->packed, packed_count(*count), m->kind.mpi, *dest, *tag, m->comm, &r);
    begin(m, r, request);
}

void farfel_mpi_isend_b_(void *buf, void *bufb, Int *count, Int *type, Int *dest, Int *tag, Int *comm, Int *request,
                         Int *ierror, void *ch, void *chb) {
    Message *m = last_begun(0);
    receive_adjoint(m->kind, m->count, m->peer, m->tag, m->comm, bufb);
    free(m);
}

void farfel_mpi_irecv_(void *buf, Int *count, Int *type, Int *source, Int *tag, Int *comm, Int *request, Int *ierror,
                       void *ch) {
    Message *m = message(1, kind_of(type), *count, *source, *tag, MPI_Comm_f2c(*comm));
    MPI_Request r;
    m->variable = base_variable;
    char *base = of_variable(&bases, base_variable);
    if (!base)
        abort_all("an MPI_IRECV is not below the subprogram that completes its request; call both from one subprogram with the "
                  "request and the buffer");
    m->offset = (char *)buf - base;
    *ierror = MPI_Irecv(buf, *count, m->kind.mpi, *source, *tag, forward_comm(comm), &r);
    begin(m, r, request);
    append(&begun, m);
}

void farfel_mpi_irecv_d_(void *buf, void *bufd, Int *count, Int *type, Int *source, Int *tag, Int *comm, Int *request,
                         Int *ierror, void *ch, void *chd) {
    Message *m = message(1, kind_of(type), *count, *source, *tag, MPI_Comm_f2c(*comm));
    MPI_Request r;
    m->buffer = buf;
    m->tangent = bufd;
    m->packed = grab(packed_count(*count) * m->kind.size);
    *ierror = MPI_Irecv(m->packed, packed_count(*count), m->kind.mpi, *source, *tag, m->comm, &r);
    begin(m, r, request);
}

void farfel_mpi_irecv_b_(void *buf, void *bufb, Int *count, Int *type, Int *source, Int *tag, Int *comm, Int *request,
                         Int *ierror, void *ch, void *chb) {
    Message *m = last_begun(1);
    if (m->state != SENT)
        abort_all("the MPI_WAIT of an MPI_IRECV was not reached in the AD block; complete all requests in it");
    if (m->adjoint_of && m->adjoint_of != bufb)
        abort_all("the adjoint of an MPI_IRECV's buffer has moved: please report this as a bug of Farfel");
    leave(m);
}

/* Completes a request, and returns its message if that has a derivative. */
static Message *complete(Int *handle, Int *st, const Int *keep, Int *ierror) {
    Message *m = NULL;
    for (size_t i = in_flight.length; i-- > 0 && !m;) {
        Message *other = in_flight.items[i];
        if (other->handle == *handle) {
            m = other;
            in_flight.items[i] = in_flight.items[--in_flight.length];
        }
    }
    MPI_Request r = MPI_Request_f2c(*handle);
    MPI_Status status;
    *ierror = MPI_Wait(&r, &status);
    *handle = MPI_Request_c2f(r);
    if (m && m->tangent) unpack(m->kind, &status, m->packed, m->buffer, m->tangent);
    else if (m && m->receives) received(m, &status);
    give_status(&status, st, keep);
    return m;
}

static Int *status_number(Int *statuses, int i) { return statuses + i * (sizeof(MPI_Status) / sizeof(Int)); }

static void wait_for(int n, Int *requests, Int *statuses, Int *ierror, const Int *keep) {
    List *all = grab(sizeof *all);
    *ierror = MPI_SUCCESS;
    for (int i = 0; i < n; i++) {
        Int error;
        Message *m = complete(&requests[i], *keep ? status_number(statuses, i) : NULL, keep, &error);
        if (error != MPI_SUCCESS) *ierror = error;
        if (m) append(all, m);
    }
    append(&waits, all);
}

static void wait_for_tangents(int n, Int *requests, Int *statuses, Int *ierror, const Int *keep) {
    *ierror = MPI_SUCCESS;
    for (int i = 0; i < n; i++) {
        Int error;
        Message *m = complete(&requests[i], *keep ? status_number(statuses, i) : NULL, keep, &error);
        if (error != MPI_SUCCESS) *ierror = error;
        if (m) {
            free(m->packed);
            free(m);
        }
    }
}

static void undo_wait(void) {
    if (!waits.length) last_begun(-1);
    List *all = waits.items[--waits.length];
    for (size_t i = all->length; i-- > 0;) {
        Message *m = all->items[i];
        if (!m->receives || m->state != OPEN) continue;
        char *base = of_variable(&adjoints, m->variable);
        if (!base)
            abort_all("an MPI_WAIT completes an MPI_IRECV of which its callers do not know the buffer; call both from one "
                      "subprogram with the request and the buffer");
        send_adjoint(m, base + m->offset);
    }
    free(all->items);
    free(all);
}

void farfel_mpi_wait_(Int *request, Int *st, Int *ierror, Int *keep, void *ch) { wait_for(1, request, st, ierror, keep); }

void farfel_mpi_wait_d_(Int *request, Int *st, Int *ierror, Int *keep, void *ch, void *chd) {
    wait_for_tangents(1, request, st, ierror, keep);
}

void farfel_mpi_wait_b_(Int *request, Int *st, Int *ierror, Int *keep, void *ch, void *chb) { undo_wait(); }

void farfel_mpi_waitall_(Int *n, Int *requests, Int *st, Int *ierror, Int *keep, void *ch) {
    wait_for(*n, requests, st, ierror, keep);
}

void farfel_mpi_waitall_d_(Int *n, Int *requests, Int *st, Int *ierror, Int *keep, void *ch, void *chd) {
    wait_for_tangents(*n, requests, st, ierror, keep);
}

void farfel_mpi_waitall_b_(Int *n, Int *requests, Int *st, Int *ierror, Int *keep, void *ch, void *chb) { undo_wait(); }

/* ---- BARRIER and BCAST. ---- */

void farfel_mpi_barrier_(Int *comm, Int *ierror, void *ch) { *ierror = MPI_Barrier(MPI_Comm_f2c(*comm)); }

void farfel_mpi_barrier_d_(Int *comm, Int *ierror, void *ch, void *chd) { *ierror = MPI_Barrier(MPI_Comm_f2c(*comm)); }

void farfel_mpi_barrier_b_(Int *comm, Int *ierror, void *ch, void *chb) { MPI_Barrier(MPI_Comm_f2c(*comm)); }

static int rank_in(MPI_Comm comm) {
    int rank;
    MPI_Comm_rank(comm, &rank);
    return rank;
}

static int size_of(MPI_Comm comm) {
    int size;
    MPI_Comm_size(comm, &size);
    return size;
}

void farfel_mpi_bcast_(void *buf, Int *count, Int *type, Int *root, Int *comm, Int *ierror, void *ch) {
    *ierror = MPI_Bcast(buf, *count, kind_of(type).mpi, *root, MPI_Comm_f2c(*comm));
}

void farfel_mpi_bcast_d_(void *buf, void *bufd, Int *count, Int *type, Int *root, Int *comm, Int *ierror, void *ch,
                         void *chd) {
    MPI_Bcast(bufd, *count, kind_of(type).mpi, *root, MPI_Comm_f2c(*comm));
    farfel_mpi_bcast_(buf, count, type, root, comm, ierror, ch);
}

void farfel_mpi_bcast_b_(void *buf, void *bufb, Int *count, Int *type, Int *root, Int *comm, Int *ierror, void *ch,
                         void *chb) {
    Kind k = kind_of(type);
    MPI_Comm c = MPI_Comm_f2c(*comm);
    if (rank_in(c) == *root) {
        MPI_Reduce(MPI_IN_PLACE, bufb, *count, k.mpi, MPI_SUM, *root, c);
    } else {
        MPI_Reduce(bufb, NULL, *count, k.mpi, MPI_SUM, *root, c);
        set_zero(k, *count, bufb);
    }
}

/* ---- REDUCE and ALLREDUCE. ---- */

/* Multiplies `x` by the derivative of the result with respect to this rank's values. */
static void by_derivative(Kind k, size_t n, const void *values, Int op, MPI_Comm comm, void *x, int adjoint) {
    MPI_Op o = MPI_Op_f2c(op);
    if (o == MPI_SUM) return;
    int rank = rank_in(comm), size = size_of(comm);
    if ((o == MPI_MAX || o == MPI_MIN) && !k.complex) {
        /* Where several ranks have the greatest or least value, the first of them counts. */
        void *best = grab(n * k.size);
        int *holder = grab(n * sizeof *holder);
        MPI_Allreduce(values, best, (int)n, k.mpi, o, comm);
        for (size_t i = 0; i < n; i++) holder[i] = get(k, values, i) == get(k, best, i) ? rank : size;
        MPI_Allreduce(MPI_IN_PLACE, holder, (int)n, MPI_INT, MPI_MIN, comm);
        for (size_t i = 0; i < n; i++)
            if (holder[i] != rank) put(k, x, i, 0);
        free(best);
        free(holder);
    } else if (o == MPI_PROD) {
        /* The product of the others' values, without division: values may be zero. */
        char *all = grab(n * size * k.size);
        MPI_Allgather(values, (int)n, k.mpi, all, (int)n, k.mpi, comm);
        for (int r = 0; r < size; r++)
            if (r != rank) {
                void *others = all + r * n * k.size;
                multiply(k, n, others, x, adjoint);
                memcpy(x, others, n * k.size);
            }
        free(all);
    } else {
        abort_all("a reduction of values with derivatives has an operation other than MPI_SUM, MPI_MAX, MPI_MIN and "
                  "MPI_PROD");
    }
}

/* ALLREDUCE if there is no root. The buffers may be the same. */
static void reduce_d(void *send, void *sendd, void *recv, void *recvd, Int n, Int *type, Int op, const Int *root, Int comm,
                     Int *ierror) {
    Kind k = kind_of(type);
    MPI_Comm c = MPI_Comm_f2c(comm);
    void *values = copy_of(k, n, send), *tangents = copy_of(k, n, sendd);
    by_derivative(k, n, values, op, c, tangents, 0);
    if (root) {
        *ierror = MPI_Reduce(values, recv, n, k.mpi, MPI_Op_f2c(op), *root, c);
        MPI_Reduce(tangents, recvd, n, k.mpi, MPI_SUM, *root, c);
    } else {
        *ierror = MPI_Allreduce(values, recv, n, k.mpi, MPI_Op_f2c(op), c);
        MPI_Allreduce(tangents, recvd, n, k.mpi, MPI_SUM, c);
    }
    free(values);
    free(tangents);
}

static void reduce_b(void *send, void *sendb, void *recvb, Int n, Int *type, Int op, const Int *root, Int comm) {
    Kind k = kind_of(type);
    MPI_Comm c = MPI_Comm_f2c(comm);
    void *total = grab(n * k.size);
    if (root) {
        int is_root = rank_in(c) == *root;
        if (is_root) memcpy(total, recvb, n * k.size);
        MPI_Bcast(total, n, k.mpi, *root, c);
        if (is_root) set_zero(k, n, recvb);
    } else {
        MPI_Allreduce(recvb, total, n, k.mpi, MPI_SUM, c);
        set_zero(k, n, recvb);
    }
    by_derivative(k, n, send, op, c, total, 1);
    add(k, n, sendb, total);
    free(total);
}

#define REDUCTION(NAME, ROOT_ARGUMENT, ROOT, CALL)                                                                           \
    void farfel_mpi_##NAME##_(void *send, void *recv, Int *count, Int *type, Int *op ROOT_ARGUMENT, Int *comm, Int *ierror,  \
                              void *ch) {                                                                                    \
        *ierror = CALL;                                                                                                      \
    }                                                                                                                        \
    void farfel_mpi_##NAME##_d_(void *send, void *sendd, void *recv, void *recvd, Int *count, Int *type,                     \
                                Int *op ROOT_ARGUMENT, Int *comm, Int *ierror, void *ch, void *chd) {                        \
        reduce_d(send, sendd, recv, recvd, *count, type, *op, ROOT, *comm, ierror);                                          \
    }                                                                                                                        \
    void farfel_mpi_##NAME##_b_(void *send, void *sendb, void *recv, void *recvb, Int *count, Int *type,                     \
                                Int *op ROOT_ARGUMENT, Int *comm, Int *ierror, void *ch, void *chb) {                        \
        reduce_b(send, sendb, recvb, *count, type, *op, ROOT, *comm);                                                        \
    }

#define IN_PLACE(NAME, ROOT_ARGUMENT, ROOT, CALL)                                                                            \
    void farfel_mpi_##NAME##_(void *buf, Int *count, Int *type, Int *op ROOT_ARGUMENT, Int *comm, Int *ierror, void *ch) {   \
        *ierror = CALL;                                                                                                      \
    }                                                                                                                        \
    void farfel_mpi_##NAME##_d_(void *buf, void *bufd, Int *count, Int *type, Int *op ROOT_ARGUMENT, Int *comm, Int *ierror, \
                                void *ch, void *chd) {                                                                       \
        reduce_d(buf, bufd, buf, bufd, *count, type, *op, ROOT, *comm, ierror);                                              \
    }                                                                                                                        \
    void farfel_mpi_##NAME##_b_(void *buf, void *bufb, Int *count, Int *type, Int *op ROOT_ARGUMENT, Int *comm, Int *ierror, \
                                void *ch, void *chb) {                                                                       \
        reduce_b(buf, bufb, bufb, *count, type, *op, ROOT, *comm);                                                           \
    }

#define NONE
#define WITH_ROOT , Int *root
#define MPI_OF_REDUCE(FROM, TO) \
    MPI_Reduce(FROM, TO, *count, kind_of(type).mpi, MPI_Op_f2c(*op), *root, MPI_Comm_f2c(*comm))
#define MPI_OF_ALLREDUCE(FROM, TO) MPI_Allreduce(FROM, TO, *count, kind_of(type).mpi, MPI_Op_f2c(*op), MPI_Comm_f2c(*comm))

REDUCTION(reduce, WITH_ROOT, root, MPI_OF_REDUCE(send, recv))
REDUCTION(reduce_sum, WITH_ROOT, root, MPI_OF_REDUCE(send, recv))
REDUCTION(allreduce, NONE, NULL, MPI_OF_ALLREDUCE(send, recv))
REDUCTION(allreduce_sum, NONE, NULL, MPI_OF_ALLREDUCE(send, recv))
IN_PLACE(reduce_in_place, WITH_ROOT, root, MPI_OF_REDUCE(MPI_IN_PLACE, buf))
IN_PLACE(reduce_sum_in_place, WITH_ROOT, root, MPI_OF_REDUCE(MPI_IN_PLACE, buf))
IN_PLACE(allreduce_in_place, NONE, NULL, MPI_OF_ALLREDUCE(MPI_IN_PLACE, buf))
IN_PLACE(allreduce_sum_in_place, NONE, NULL, MPI_OF_ALLREDUCE(MPI_IN_PLACE, buf))

/* ---- GATHER and SCATTER. ---- */

/* Where the parts of the ranks begin if they lie one after the other, and how many elements there are. */
static int *consecutive(const Int *counts, int size, int *total) {
    int *begin = grab(size * sizeof *begin);
    *total = 0;
    for (int r = 0; r < size; r++) {
        begin[r] = *total;
        *total += counts[r];
    }
    return begin;
}

void farfel_mpi_gather_(void *send, Int *scount, Int *stype, void *recv, Int *rcount, Int *rtype, Int *root, Int *comm,
                        Int *ierror, void *ch) {
    *ierror = MPI_Gather(send, *scount, kind_of(stype).mpi, recv, *rcount, MPI_Type_f2c(*rtype), *root, MPI_Comm_f2c(*comm));
}

void farfel_mpi_gather_d_(void *send, void *sendd, Int *scount, Int *stype, void *recv, void *recvd, Int *rcount, Int *rtype,
                          Int *root, Int *comm, Int *ierror, void *ch, void *chd) {
    farfel_mpi_gather_(sendd, scount, stype, recvd, rcount, rtype, root, comm, ierror, ch);
    farfel_mpi_gather_(send, scount, stype, recv, rcount, rtype, root, comm, ierror, ch);
}

void farfel_mpi_gather_b_(void *send, void *sendb, Int *scount, Int *stype, void *recv, void *recvb, Int *rcount, Int *rtype,
                          Int *root, Int *comm, Int *ierror, void *ch, void *chb) {
    Kind k = kind_of(stype);
    MPI_Comm c = MPI_Comm_f2c(*comm);
    void *mine = grab(*scount * k.size);
    MPI_Scatter(recvb, *rcount, MPI_Type_f2c(*rtype), mine, *scount, k.mpi, *root, c);
    if (rank_in(c) == *root) set_zero(kind_of(rtype), (size_t)*rcount * size_of(c), recvb);
    add(k, *scount, sendb, mine);
    free(mine);
}

void farfel_mpi_gatherv_(void *send, Int *scount, Int *stype, void *recv, Int *rcounts, Int *displs, Int *rtype, Int *root,
                         Int *comm, Int *ierror, void *ch) {
    *ierror = MPI_Gatherv(send, *scount, kind_of(stype).mpi, recv, rcounts, displs, MPI_Type_f2c(*rtype), *root,
                          MPI_Comm_f2c(*comm));
}

void farfel_mpi_gatherv_d_(void *send, void *sendd, Int *scount, Int *stype, void *recv, void *recvd, Int *rcounts,
                           Int *displs, Int *rtype, Int *root, Int *comm, Int *ierror, void *ch, void *chd) {
    farfel_mpi_gatherv_(sendd, scount, stype, recvd, rcounts, displs, rtype, root, comm, ierror, ch);
    farfel_mpi_gatherv_(send, scount, stype, recv, rcounts, displs, rtype, root, comm, ierror, ch);
}

void farfel_mpi_gatherv_b_(void *send, void *sendb, Int *scount, Int *stype, void *recv, void *recvb, Int *rcounts,
                           Int *displs, Int *rtype, Int *root, Int *comm, Int *ierror, void *ch, void *chb) {
    Kind k = kind_of(stype);
    MPI_Comm c = MPI_Comm_f2c(*comm);
    void *mine = grab(*scount * k.size);
    MPI_Scatterv(recvb, rcounts, displs, MPI_Type_f2c(*rtype), mine, *scount, k.mpi, *root, c);
    if (rank_in(c) == *root) {
        Kind rk = kind_of(rtype);
        for (int r = 0; r < size_of(c); r++) set_zero(rk, rcounts[r], at(rk, recvb, displs[r]));
    }
    add(k, *scount, sendb, mine);
    free(mine);
}

void farfel_mpi_scatter_(void *send, Int *scount, Int *stype, void *recv, Int *rcount, Int *rtype, Int *root, Int *comm,
                         Int *ierror, void *ch) {
    *ierror = MPI_Scatter(send, *scount, MPI_Type_f2c(*stype), recv, *rcount, kind_of(rtype).mpi, *root, MPI_Comm_f2c(*comm));
}

void farfel_mpi_scatter_d_(void *send, void *sendd, Int *scount, Int *stype, void *recv, void *recvd, Int *rcount, Int *rtype,
                           Int *root, Int *comm, Int *ierror, void *ch, void *chd) {
    farfel_mpi_scatter_(sendd, scount, stype, recvd, rcount, rtype, root, comm, ierror, ch);
    farfel_mpi_scatter_(send, scount, stype, recv, rcount, rtype, root, comm, ierror, ch);
}

void farfel_mpi_scatter_b_(void *send, void *sendb, Int *scount, Int *stype, void *recv, void *recvb, Int *rcount, Int *rtype,
                           Int *root, Int *comm, Int *ierror, void *ch, void *chb) {
    Kind k = kind_of(rtype);
    MPI_Comm c = MPI_Comm_f2c(*comm);
    if (rank_in(c) == *root) {
        Kind sk = kind_of(stype);
        size_t n = (size_t)*scount * size_of(c);
        void *all = grab(n * sk.size);
        MPI_Gather(recvb, *rcount, k.mpi, all, *scount, sk.mpi, *root, c);
        add(sk, n, sendb, all);
        free(all);
    } else {
        MPI_Gather(recvb, *rcount, k.mpi, NULL, 0, k.mpi, *root, c);
    }
    set_zero(k, *rcount, recvb);
}

void farfel_mpi_scatterv_(void *send, Int *scounts, Int *displs, Int *stype, void *recv, Int *rcount, Int *rtype, Int *root,
                          Int *comm, Int *ierror, void *ch) {
    *ierror = MPI_Scatterv(send, scounts, displs, MPI_Type_f2c(*stype), recv, *rcount, kind_of(rtype).mpi, *root,
                           MPI_Comm_f2c(*comm));
}

void farfel_mpi_scatterv_d_(void *send, void *sendd, Int *scounts, Int *displs, Int *stype, void *recv, void *recvd,
                            Int *rcount, Int *rtype, Int *root, Int *comm, Int *ierror, void *ch, void *chd) {
    farfel_mpi_scatterv_(sendd, scounts, displs, stype, recvd, rcount, rtype, root, comm, ierror, ch);
    farfel_mpi_scatterv_(send, scounts, displs, stype, recv, rcount, rtype, root, comm, ierror, ch);
}

void farfel_mpi_scatterv_b_(void *send, void *sendb, Int *scounts, Int *displs, Int *stype, void *recv, void *recvb,
                            Int *rcount, Int *rtype, Int *root, Int *comm, Int *ierror, void *ch, void *chb) {
    Kind k = kind_of(rtype);
    MPI_Comm c = MPI_Comm_f2c(*comm);
    if (rank_in(c) == *root) {
        /* The parts may overlap. */
        Kind sk = kind_of(stype);
        int size = size_of(c), total;
        int *begin = consecutive(scounts, size, &total);
        void *all = grab(total * sk.size);
        MPI_Gatherv(recvb, *rcount, k.mpi, all, scounts, begin, sk.mpi, *root, c);
        for (int r = 0; r < size; r++) add(sk, scounts[r], at(sk, sendb, displs[r]), at(sk, all, begin[r]));
        free(all);
        free(begin);
    } else {
        MPI_Gatherv(recvb, *rcount, k.mpi, NULL, NULL, NULL, k.mpi, *root, c);
    }
    set_zero(k, *rcount, recvb);
}

void farfel_mpi_allgather_(void *send, Int *scount, Int *stype, void *recv, Int *rcount, Int *rtype, Int *comm, Int *ierror,
                           void *ch) {
    *ierror = MPI_Allgather(send, *scount, kind_of(stype).mpi, recv, *rcount, kind_of(rtype).mpi, MPI_Comm_f2c(*comm));
}

void farfel_mpi_allgather_d_(void *send, void *sendd, Int *scount, Int *stype, void *recv, void *recvd, Int *rcount,
                             Int *rtype, Int *comm, Int *ierror, void *ch, void *chd) {
    farfel_mpi_allgather_(sendd, scount, stype, recvd, rcount, rtype, comm, ierror, ch);
    farfel_mpi_allgather_(send, scount, stype, recv, rcount, rtype, comm, ierror, ch);
}

void farfel_mpi_allgather_b_(void *send, void *sendb, Int *scount, Int *stype, void *recv, void *recvb, Int *rcount,
                             Int *rtype, Int *comm, Int *ierror, void *ch, void *chb) {
    Kind k = kind_of(rtype);
    MPI_Comm c = MPI_Comm_f2c(*comm);
    void *mine = grab(*rcount * k.size);
    MPI_Reduce_scatter_block(recvb, mine, *rcount, k.mpi, MPI_SUM, c);
    set_zero(k, (size_t)*rcount * size_of(c), recvb);
    add(k, *rcount, sendb, mine);
    free(mine);
}

void farfel_mpi_allgatherv_(void *send, Int *scount, Int *stype, void *recv, Int *rcounts, Int *displs, Int *rtype, Int *comm,
                            Int *ierror, void *ch) {
    *ierror = MPI_Allgatherv(send, *scount, kind_of(stype).mpi, recv, rcounts, displs, kind_of(rtype).mpi,
                             MPI_Comm_f2c(*comm));
}

void farfel_mpi_allgatherv_d_(void *send, void *sendd, Int *scount, Int *stype, void *recv, void *recvd, Int *rcounts,
                              Int *displs, Int *rtype, Int *comm, Int *ierror, void *ch, void *chd) {
    farfel_mpi_allgatherv_(sendd, scount, stype, recvd, rcounts, displs, rtype, comm, ierror, ch);
    farfel_mpi_allgatherv_(send, scount, stype, recv, rcounts, displs, rtype, comm, ierror, ch);
}

void farfel_mpi_allgatherv_b_(void *send, void *sendb, Int *scount, Int *stype, void *recv, void *recvb, Int *rcounts,
                              Int *displs, Int *rtype, Int *comm, Int *ierror, void *ch, void *chb) {
    Kind k = kind_of(rtype);
    MPI_Comm c = MPI_Comm_f2c(*comm);
    int size = size_of(c), total;
    int *begin = consecutive(rcounts, size, &total);
    void *all = grab(total * k.size), *mine = grab(*scount * k.size);
    for (int r = 0; r < size; r++) {
        if (rcounts[r]) memcpy(at(k, all, begin[r]), at(k, recvb, displs[r]), rcounts[r] * k.size);
        set_zero(k, rcounts[r], at(k, recvb, displs[r]));
    }
    MPI_Reduce_scatter(all, mine, rcounts, k.mpi, MPI_SUM, c);
    add(k, *scount, sendb, mine);
    free(all);
    free(mine);
    free(begin);
}
