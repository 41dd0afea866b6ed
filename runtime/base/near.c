/* The ranks of one machine: which they are, and a word that they share, by which one of them speaks
   for all. Contract: ranks find each other by `collect` and `max` of their GcComm alone, so that no
   rank waits longer than these do. The word lies in a file without a name of the machine's first
   rank, which the others open by /proc, so that nothing of it is left however processes end. Where
   they cannot, as from a container with process numbers of its own, there is no word. */
#include "runtime/base/rt.h"
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

enum { NAME = 64, TOKEN = 16 };
enum { NOBODY = 0, HAS_SPOKEN = -1 }; /* else 1 + the rank that speaks */

typedef struct Word {
  char token[TOKEN]; /* what was opened is the word */
  _Atomic int speech, code;
} Word;

struct GcNear {
  Word *word;     /* NULL: there is none */
  int machines[]; /* by rank: the first rank of its machine */
};

typedef struct Card { /* what each rank tells the others */
  char machine[NAME], token[TOKEN];
  int32_t pid, fd;
} Card;

void gcrt_machine_name(char out[NAME]) {
  memset(out, 0, NAME);
  FILE *f = fopen("/proc/sys/kernel/random/boot_id", "r");
  bool known = f && fgets(out, NAME, f);
  if (f) fclose(f);
  if (!known) (void)gethostname(out, NAME - 1);
  out[strcspn(out, "\n")] = 0;
}

/* fd -1: this rank has no word to offer. */
static void offer(Card *card) {
  card->pid = (int32_t)getpid();
  card->fd = memfd_create("gc-ranks", MFD_CLOEXEC);
  if (card->fd < 0) return;
  if (getrandom(card->token, TOKEN, 0) == TOKEN && ftruncate(card->fd, sizeof(Word)) == 0 &&
      pwrite(card->fd, card->token, TOKEN, 0) == TOKEN)
    return;
  close(card->fd);
  card->fd = -1;
}

static Word *open_word(const Card *first) {
  char path[64];
  if (first->fd < 0) return NULL;
  snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)first->pid, (int)first->fd);
  int fd = open(path, O_RDWR | O_CLOEXEC);
  if (fd < 0) return NULL;
  char token[TOKEN];
  Word *w = MAP_FAILED;
  if (pread(fd, token, TOKEN, 0) == TOKEN && memcmp(token, first->token, TOKEN) == 0)
    w = mmap(NULL, sizeof *w, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  return w == MAP_FAILED ? NULL : w;
}

bool gcrt_near_find(GcComm *c, bool speaks) {
  const size_t ranks = (size_t)c->ranks;
  GcNear *n = calloc(1, sizeof *n + ranks * sizeof n->machines[0]);
  Card *cards = calloc(ranks, sizeof *cards), *own = cards ? &cards[c->rank] : NULL;
  if (!n || !cards) {
    free(n), free(cards);
    return false;
  }
  gcrt_machine_name(own->machine);
  own->fd = -1;
  if (speaks) offer(own);
  c->collect(c, (int *)(void *)cards, (int)(sizeof *cards / sizeof(int)));
  for (int r = 0; !c->failure && r < c->ranks; r++)
    while (strncmp(cards[n->machines[r]].machine, cards[r].machine, NAME) != 0) n->machines[r]++;
  if (speaks && !c->failure) n->word = open_word(&cards[n->machines[c->rank]]);
  if (speaks && !c->failure) (void)c->max(c, 0); /* all have opened it */
  if (own->fd >= 0) close(own->fd);
  if (!c->failure) free(cards); /* else a message may still come to lie there */
  c->near = n;
  c->local = 0;
  for (int r = 0; r < c->ranks; r++) c->local += n->machines[r] == n->machines[c->rank];
  return true;
}

void gcrt_near_free(GcNear *n) {
  if (n && n->word) munmap(n->word, sizeof *n->word);
  free(n);
}

void gcrt_near_sum(const GcComm *c, int *at, int n) {
  const int *machines = c->near->machines, here = machines[c->rank];
  int *all = calloc((size_t)c->ranks * (size_t)n, sizeof *all);
  if (!all) return; /* each has what it gave */
  memcpy(all + c->rank * n, at, (size_t)n * sizeof *at);
  c->collect(c, all, n);
  for (int r = 0; !c->failure && r < c->ranks; r++)
    for (int k = 0; r != c->rank && machines[r] == here && k < n; k++) at[k] += all[r * n + k];
  if (!c->failure) free(all);
}

int gcrt_near_turn(const GcComm *c) {
  if (!c->near || !c->near->word) return c->rank;
  int turn = 0;
  for (int r = 0; r < c->near->machines[c->rank]; r++) turn += c->near->machines[r] == r;
  return turn;
}

/* One that ends before it has spoken is followed by another. */
bool gcrt_near_speaks(const GcComm *c) {
  enum { NAPS = 200, NAP = 10000000 /* ns */ };
  Word *w = c->near ? c->near->word : NULL;
  for (int now, before = NOBODY, naps = 0; w; before = now) {
    now = atomic_load(&w->speech);
    if (now == HAS_SPOKEN) return false;
    naps = now == before ? naps + 1 : 0; /* while the same one was to speak */
    if ((now == NOBODY || naps == NAPS) &&
        atomic_compare_exchange_strong(&w->speech, &now, 1 + c->rank))
      return true;
    nanosleep(&(struct timespec){.tv_nsec = NAP}, NULL);
  }
  return true;
}

int gcrt_near_said(const GcComm *c, int code) {
  Word *w = c->near ? c->near->word : NULL;
  int first = 0;
  if (!w || atomic_compare_exchange_strong(&w->code, &first, code)) first = code;
  if (w) atomic_store(&w->speech, HAS_SPOKEN);
  return first;
}
