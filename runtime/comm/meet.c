/* How ranks find each other: rank 0 listens, the others connect and say who they are; when all are
   there, rank 0 tells each which of the ranks of its machine it is. With a file, rank 0 writes into
   it where it listens, and a number that others could not know. Contract: within the timeout, or
   nobody goes on; what does not speak this language is not heard. */
#include "runtime/comm/tcp.h"
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <math.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { NAME = 64, ADDRESSES = 16, HELLO_SECONDS = 5, CONNECT_SECONDS = 5 };
static const char language[8] = "gcranks1";

typedef struct Token {
  unsigned char at[16];
} Token;

typedef struct Hello { /* of a rank that has connected */
  char language[8];
  uint64_t program;
  int32_t ranks, rank;
  char machine[NAME];
  Token token;
} Hello;
typedef enum Answer { COME_IN = 1, OTHER_PROGRAM, TWICE, NOT_ALL } Answer;
typedef struct Welcome { /* when all are there */
  int32_t answer;
  int32_t local, local_rank; /* ranks of its machine, and which of them it is */
  int32_t with_first;        /* its machine is that of rank 0 */
} Welcome;

typedef struct Notice { /* what a file says */
  char machine[NAME], port[16];
  char address[ADDRESSES][INET6_ADDRSTRLEN];
  int n;
  Token token;
} Notice;

static void nap(void) { nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL); }

static void set_up(int socket) {
  int yes = 1;
  setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  fcntl(socket, F_SETFL, fcntl(socket, F_GETFL) | O_NONBLOCK);
}

/* ---- the file ---- */

static void add_address(Notice *n, const struct sockaddr *a) {
  socklen_t size =
      a->sa_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
  if (n->n < ADDRESSES &&
      getnameinfo(a, size, n->address[n->n], sizeof n->address[0], NULL, 0, NI_NUMERICHOST) == 0)
    n->n++;
}

static void addresses(Notice *n) {
  struct ifaddrs *all;
  if (getifaddrs(&all) != 0) return;
  for (struct ifaddrs *a = all; a; a = a->ifa_next) {
    if (!a->ifa_addr || (a->ifa_flags & IFF_LOOPBACK) || !(a->ifa_flags & IFF_UP)) continue;
    if (a->ifa_addr->sa_family == AF_INET || a->ifa_addr->sa_family == AF_INET6)
      add_address(n, a->ifa_addr);
  }
  freeifaddrs(all);
}

/* The file appears whole. */
static bool post(const Tcp *t, const char *port, Token *token, Err *e) {
  Notice n = {0};
  char fresh[PLACE_NAME + 16];
  gcrt_machine_name(n.machine);
  snprintf(n.port, sizeof n.port, "%s", port);
  addresses(&n);
  if (getrandom(n.token.at, sizeof n.token.at, 0) != (ssize_t)sizeof n.token.at)
    return err_set(e, EXIT_ENV, "no random numbers: %s", strerror(errno));
  *token = n.token;
  snprintf(fresh, sizeof fresh, "%s.%ld", t->place.file, (long)getpid());
  int fd = open(fresh, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  bool ok = fd >= 0 && write(fd, &n, sizeof n) == (ssize_t)sizeof n;
  if (fd >= 0 && close(fd) != 0) ok = false;
  if (ok && rename(fresh, t->place.file) == 0) return true;
  err_set(e, EXIT_ENV, "%s: cannot be written, where ranks are to meet: %s", t->place.file,
          strerror(errno));
  if (fd >= 0) unlink(fresh);
  return false;
}

/* One of this user; false: there is none yet. */
static bool read_notice(const Tcp *t, Notice *n) {
  int fd = open(t->place.file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  struct stat st;
  if (fd < 0) return false;
  bool ok = fstat(fd, &st) == 0 && st.st_uid == geteuid() &&
            read(fd, n, sizeof *n) == (ssize_t)sizeof *n && n->n >= 0 && n->n <= ADDRESSES;
  close(fd);
  n->machine[NAME - 1] = n->port[sizeof n->port - 1] = 0;
  return ok;
}

/* ---- rank 0 ---- */

static int listen_at(const Tcp *t, Err *e) {
  struct addrinfo hints = {
      .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};
  struct addrinfo *list = NULL;
  const char *port = t->place.file[0] ? "0" : t->place.port;
  int yes = 1, no = 0, socket_at = -1, error = 0, lookup = getaddrinfo(NULL, port, &hints, &list);
  if (lookup == EAI_SYSTEM) error = errno;
  if (lookup) list = NULL;
  for (int six = 1; six >= 0 && socket_at < 0; six--) /* which takes connections of both */
    for (struct addrinfo *a = list; a && socket_at < 0; a = a->ai_next) {
      if ((a->ai_family == AF_INET6) != six) continue;
      int s = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
      if (s < 0) error = errno;
      if (s < 0) continue;
      setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
      if (six) setsockopt(s, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no);
      if (bind(s, a->ai_addr, a->ai_addrlen) == 0 && listen(s, SOMAXCONN) == 0)
        socket_at = s;
      else
        error = errno, close(s);
    }
  if (list) freeaddrinfo(list);
  if (socket_at >= 0) return socket_at;
  err_set(e, EXIT_ENV, "rank 0 cannot listen at port %s: %s", port,
          lookup && !error ? gai_strerror(lookup) : strerror(error));
  err_hint(e, "GC_MASTER=HOST:PORT names another");
  return -1;
}

static int port_of(int socket) {
  struct sockaddr_storage a;
  socklen_t n = sizeof a;
  if (getsockname(socket, (struct sockaddr *)&a, &n) != 0) return 0;
  return ntohs(a.ss_family == AF_INET ? ((struct sockaddr_in *)(void *)&a)->sin_port
                                      : ((struct sockaddr_in6 *)(void *)&a)->sin6_port);
}

static Hello hello_of(const Tcp *t, const Token *token) {
  Hello h = {
      .program = gc_program.hash, .ranks = t->place.ranks, .rank = t->place.rank, .token = *token};
  memcpy(h.language, language, sizeof h.language);
  gcrt_machine_name(h.machine);
  return h;
}

typedef struct Caller { /* has connected, and has not yet said who it is */
  int socket;
  size_t heard; /* bytes of its hello */
  double end;   /* when it is heard no longer */
  Hello hello;
} Caller;

typedef struct Guests {
  char (*machine)[NAME]; /* by rank; "" of those who have not come */
  int here;
  Caller *caller;
  struct pollfd *poll; /* [0]: where rank 0 listens; then the callers */
  int callers;
} Guests;

static bool refuse(int socket, Answer answer, Err *e, const char *why, int rank) {
  Welcome w = {.answer = (int32_t)answer};
  (void)tcp_move(socket, &w, sizeof w, true, HELLO_SECONDS);
  close(socket);
  return err_set(e, EXIT_ENV, why, rank);
}

/* One whose hello is whole. False after an error; what is no rank is no error. */
static bool let_in(Tcp *t, int socket, const Hello *own, const Hello *h, Guests *g, Err *e) {
  if (memcmp(h->language, own->language, sizeof h->language) != 0 ||
      memcmp(&h->token, &own->token, sizeof h->token) != 0) {
    close(socket);
    return true;
  }
  if (h->program != own->program || h->ranks != own->ranks || h->rank < 1 || h->rank >= own->ranks)
    return refuse(socket, OTHER_PROGRAM, e, "rank %d is of another program or number of ranks",
                  h->rank);
  if (t->peer[h->rank] >= 0)
    return refuse(socket, TWICE, e, "two processes say that they are rank %d", h->rank);
  t->peer[h->rank] = socket;
  memcpy(g->machine[h->rank], h->machine, NAME - 1);
  g->here++;
  return true;
}

/* Without memory or descriptors the connection waits until a silent caller is given up. */
static void accept_one(Guests *g, int listening) {
  size_t n = (size_t)g->callers;
  Caller *caller = realloc(g->caller, (n + 1) * sizeof *caller);
  if (caller) g->caller = caller;
  struct pollfd *all = realloc(g->poll, (n + 2) * sizeof *all);
  if (all) g->poll = all;
  int s = caller && all ? accept4(listening, NULL, NULL, SOCK_CLOEXEC) : -1;
  if (s >= 0) {
    set_up(s);
    g->caller[g->callers++] = (Caller){.socket = s, .end = clock_now() + HELLO_SECONDS};
  } else
    nap();
}

/* Takes what a caller has sent. False: it is given up. */
static bool hear(Caller *c) {
  size_t left = sizeof c->hello - c->heard;
  ssize_t n = recv(c->socket, (char *)&c->hello + c->heard, left, MSG_DONTWAIT);
  if (n > 0) c->heard += (size_t)n;
  return n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR) && clock_now() < c->end);
}

/* Callers are heard side by side, so that silent ones keep no other waiting. */
static bool hear_callers(Tcp *t, const Hello *own, Guests *g, Err *e) {
  for (int i = g->callers; i-- > 0;) {
    Caller *c = &g->caller[i], now;
    bool speaks = hear(c);
    if (speaks && c->heard < sizeof c->hello) continue;
    now = *c;
    *c = g->caller[--g->callers];
    if (!speaks) close(now.socket);
    if (speaks && !let_in(t, now.socket, own, &now.hello, g, e)) return false;
  }
  return true;
}

/* Those who wait are told that it comes to nothing. */
static bool send_away(Tcp *t, Err *e) {
  Welcome w = {.answer = NOT_ALL};
  for (int r = 1; r < t->place.ranks; r++)
    if (t->peer[r] >= 0) (void)tcp_move(t->peer[r], &w, sizeof w, true, 1);
  return e->code == 0;
}

static bool not_all(const Tcp *t, const Guests *g, Err *e) {
  char missing[200] = "";
  size_t at = 0;
  for (int r = 1; r < t->place.ranks && at < sizeof missing; r++)
    if (t->peer[r] < 0)
      at += (size_t)snprintf(missing + at, sizeof missing - at, "%s%d", at ? ", " : "", r);
  err_set(e, EXIT_ENV, "%d of %d ranks have come within %g seconds: missing %s", g->here,
          t->place.ranks, t->c.timeout, missing);
  return err_hint(e, "--timeout S waits longer; GC_MASTER says where ranks meet");
}

/* What each is told; t->machine and the own numbers with it. */
static bool welcome(Tcp *t, const Guests *g) {
  const int ranks = t->place.ranks;
  bool ok = true;
  for (int r = 0; r < ranks; r++) {
    t->machine[r] = 0;
    while (strcmp(g->machine[t->machine[r]], g->machine[r]) != 0) t->machine[r]++;
  }
  for (int r = 0; r < ranks; r++) {
    Welcome w = {.answer = COME_IN, .with_first = t->machine[r] == 0};
    for (int k = 0; k < ranks; k++)
      if (t->machine[k] == t->machine[r]) w.local++, w.local_rank += k < r;
    if (r)
      ok = ok && tcp_move(t->peer[r], &w, sizeof w, true, t->c.timeout);
    else
      t->c.local = w.local, t->c.local_rank = w.local_rank;
  }
  return ok;
}

static bool wait_for_all(Tcp *t, int socket, const Hello *own, Guests *g, Err *e) {
  enum { SLICE = 100 /* ms */ };
  double end = clock_now() + t->c.timeout;
  while (g->here < t->place.ranks) {
    struct pollfd *all = g->poll;
    all[0] = (struct pollfd){.fd = socket, .events = POLLIN};
    for (int i = 0; i < g->callers; i++)
      all[1 + i] = (struct pollfd){.fd = g->caller[i].socket, .events = POLLIN};
    bool calls = poll(all, (nfds_t)g->callers + 1, SLICE) > 0 && all[0].revents;
    if (calls) accept_one(g, socket);
    if (!hear_callers(t, own, g, e)) return false;
    if (clock_now() > end) return not_all(t, g, e);
  }
  return welcome(t, g) || err_set(e, EXIT_ENV, "a rank has ended before all were there");
}

static bool receive_all(Tcp *t, Err *e) {
  Token token = {0};
  char port[16];
  int socket = listen_at(t, e);
  if (socket < 0) return false;
  snprintf(port, sizeof port, "%d", port_of(socket));
  bool ok = !t->place.file[0] || post(t, port, &token, e);
  Hello own = hello_of(t, &token);
  Guests g = {calloc((size_t)t->place.ranks, NAME), .here = 1, .poll = malloc(sizeof *g.poll)};
  if (!g.machine || !g.poll) ok = err_set(e, EXIT_ENV, "no memory for ranks");
  if (ok) memcpy(g.machine[0], own.machine, NAME);
  ok = ok && wait_for_all(t, socket, &own, &g, e);
  if (t->place.file[0]) unlink(t->place.file);
  for (int i = 0; i < g.callers; i++) close(g.caller[i].socket);
  free(g.caller), free(g.poll), free(g.machine);
  close(socket);
  return ok || send_away(t, e);
}

/* ---- the others ---- */

static int try_address(const struct addrinfo *a, double end) {
  int s = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0), error = 0;
  socklen_t n = sizeof error;
  if (s < 0) return -1;
  set_up(s);
  struct pollfd p = {.fd = s, .events = POLLOUT};
  double left = fmin(fmax(end - clock_now(), 0), CONNECT_SECONDS);
  bool ok = connect(s, a->ai_addr, a->ai_addrlen) == 0 ||
            (errno == EINPROGRESS && poll(&p, 1, (int)(1000 * left)) > 0 &&
             getsockopt(s, SOL_SOCKET, SO_ERROR, &error, &n) == 0 && !error);
  if (ok) return s;
  close(s);
  return -1;
}

static int try_host(const char *host, const char *port, double end) {
  struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM}, *list;
  int s = -1;
  if (getaddrinfo(host, port, &hints, &list) != 0) return -1;
  for (struct addrinfo *a = list; a && s < 0; a = a->ai_next) s = try_address(a, end);
  freeaddrinfo(list);
  return s;
}

/* A connection to rank 0, which may not be there yet; -1: none. */
static int try_first(const Tcp *t, Token *token, double end) {
  Notice n;
  char mine[NAME];
  if (!t->place.file[0]) return try_host(t->place.host, t->place.port, end);
  if (!read_notice(t, &n)) return -1;
  *token = n.token;
  gcrt_machine_name(mine);
  int s = strcmp(mine, n.machine) == 0 ? try_host("localhost", n.port, end) : -1;
  for (int i = 0; i < n.n && s < 0; i++) s = try_host(n.address[i], n.port, end);
  return s;
}

static bool no_answer(const Tcp *t, Err *e) {
  const Place *p = &t->place;
  err_set(e, EXIT_ENV, "rank %d: rank 0 has not answered at %s%s%s for %g seconds", p->rank,
          p->file[0] ? p->file : p->host, p->file[0] ? "" : ":", p->file[0] ? "" : p->port,
          t->c.timeout);
  return err_hint(e, "--timeout S waits longer; GC_MASTER says where ranks meet");
}

/* Where a rank 0 of another time was, this one may come. */
static bool connect_first(Tcp *t, Err *e) {
  double end = clock_now() + t->c.timeout + 1;
  for (;; nap()) {
    Token token = {0};
    int s = try_first(t, &token, end);
    Hello h = hello_of(t, &token);
    Welcome w = {0};
    double left = end - clock_now();
    bool heard = s >= 0 && tcp_move(s, &h, sizeof h, true, HELLO_SECONDS) &&
                 tcp_move(s, &w, sizeof w, false, left);
    if (heard && w.answer == COME_IN) {
      t->peer[0] = s;
      t->c.local = w.local, t->c.local_rank = w.local_rank;
      t->reports = w.local_rank == (w.with_first ? 1 : 0);
      return true;
    }
    if (s >= 0) close(s);
    if (heard && w.answer) { /* rank 0 says it */
      e->code = EXIT_ENV;
      return false;
    }
    if (clock_now() > end) return no_answer(t, e);
  }
}

bool tcp_meet(Tcp *t, Err *e) {
  if (t->place.ranks == 1) return true;
  bool ok = t->place.rank ? connect_first(t, e) : receive_all(t, e);
  if (ok && t->place.local >= 0) t->c.local_rank = t->place.local;
  return ok;
}
