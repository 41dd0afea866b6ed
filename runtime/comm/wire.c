/* Messages between rank 0 and each other rank, and what ends all of them; see tcp.h. A message is a
   head and its bytes, in the machine's order: all ranks run one program. */
#include "runtime/comm/tcp.h"
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

typedef struct Head {
  uint32_t kind, value; /* bytes that follow; FRAME_STOP: the exit code */
} Head;

enum { SLICE = 100 /* ms between two looks at other ranks */ };

static int socket_to(const Tcp *t, int rank) { return t->peer[t->place.rank ? 0 : rank]; }

/* ---- the end ---- */

typedef struct LastResort {
  int code;
} LastResort;

/* A library that does not come back from its abort does not keep the process. */
static void *end_soon(void *arg) {
  const LastResort *l = arg;
  enum { SECONDS = 5 };
  sleep(SECONDS);
  _Exit(l->code);
}

static int peers(const Tcp *t) { return t->place.rank || t->place.ranks == 1 ? 1 : t->place.ranks; }

/* What is left unread would take it back. */
static void say_last(int socket, const Head *stop) {
  char rest[4096];
  if (socket < 0) return;
  (void)!send(socket, stop, sizeof *stop, MSG_NOSIGNAL | MSG_DONTWAIT);
  shutdown(socket, SHUT_WR);
  while (recv(socket, rest, sizeof rest, MSG_DONTWAIT) > 0) continue;
}

void tcp_end(Tcp *t, int code) {
  const Head stop = {FRAME_STOP, (uint32_t)code};
  LastResort last = {code};
  pthread_t thread;
  fflush(stdout);
  for (int i = 0; t->peer && i < peers(t); i++) say_last(t->peer[i], &stop);
  const GcWatched *w = t->watched;
  if (w && pthread_create(&thread, NULL, end_soon, &last) == 0) w->abort(w->arg);
  _Exit(code);
}

_Noreturn static void gone(Tcp *t, int rank) {
  if (t->place.rank == 0 || t->reports)
    fprintf(stderr, "rank %d: rank %d has ended, and so do the others\n", t->place.rank, rank);
  tcp_end(t, EXIT_ENV);
}

void tcp_late(Tcp *t) {
  fprintf(stderr,
          "rank %d: the other ranks have not answered for %g seconds: one of them has ended, or is "
          "that much slower\nhint: --timeout S waits longer\n",
          t->place.rank, t->c.timeout);
  tcp_end(t, EXIT_ENV);
}

/* Rank 0 speaks first where all wait for one. */
static double patience(const Tcp *t) { return t->c.timeout + (t->place.rank ? 1 : 0); }

static void look(Tcp *t, int but) {
  for (int i = 0; i < peers(t); i++) {
    struct pollfd p = {.fd = t->peer[i], .events = POLLIN};
    Head head;
    if (p.fd < 0 || p.fd == but || poll(&p, 1, 0) <= 0) continue;
    ssize_t n = recv(p.fd, &head, sizeof head, MSG_PEEK | MSG_DONTWAIT);
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) gone(t, i);
    if (n == (ssize_t)sizeof head && head.kind == FRAME_STOP) tcp_end(t, (int)head.value);
  }
}

void tcp_look(Tcp *t) { look(t, -1); }

/* ---- bytes ---- */

/* What a socket takes or gives now; -1: it is of no use any more. */
static ssize_t some(int socket, void *bytes, size_t n, bool out) {
  ssize_t done = out ? send(socket, bytes, n, MSG_NOSIGNAL | MSG_DONTWAIT)
                     : recv(socket, bytes, n, MSG_DONTWAIT);
  if (done > 0) return done;
  return done < 0 && (errno == EAGAIN || errno == EINTR) ? 0 : -1;
}

static void wait_for(int socket, bool out) {
  struct pollfd p = {.fd = socket, .events = out ? POLLOUT : POLLIN};
  (void)poll(&p, 1, SLICE);
}

bool tcp_move(int socket, void *bytes, size_t n, bool out, double seconds) {
  double end = clock_now() + seconds;
  for (size_t at = 0; at < n;) {
    ssize_t done = some(socket, (char *)bytes + at, n - at, out);
    if (done < 0 || clock_now() > end) return false;
    at += (size_t)done;
    if (!done) wait_for(socket, out);
  }
  return true;
}

static void move(Tcp *t, int rank, void *bytes, size_t n, bool out) {
  double end = clock_now() + patience(t);
  int socket = socket_to(t, rank);
  for (size_t at = 0; at < n;) {
    ssize_t done = some(socket, (char *)bytes + at, n - at, out);
    if (done < 0 && out) tcp_look(t); /* it may have said why it ended */
    if (done < 0) gone(t, rank);
    at += (size_t)done;
    if (done) continue;
    wait_for(socket, out);
    look(t, out ? -1 : socket); /* which may be within a message */
    if (clock_now() > end) tcp_late(t);
  }
}

void tcp_send(Tcp *t, int rank, FrameKind kind, const void *bytes, size_t n) {
  Head head = {kind, (uint32_t)n};
  move(t, rank, &head, sizeof head, true);
  move(t, rank, (void *)bytes, n, true);
}

void tcp_receive(Tcp *t, int rank, FrameKind kind, void *bytes, size_t n) {
  Head head;
  move(t, rank, &head, sizeof head, false);
  if (head.kind == FRAME_STOP) tcp_end(t, (int)head.value);
  if (head.kind != (uint32_t)kind || head.value != n) {
    fprintf(stderr, "rank %d: rank %d does not do what this one does: are they one program?\n",
            t->place.rank, rank);
    tcp_end(t, EXIT_ENV);
  }
  move(t, rank, bytes, n, false);
}
