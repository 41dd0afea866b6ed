/* A bump arena: everything that lives as long as its owner (a context, a module, one run of a
   pass). Contract: memory is zeroed and 16-byte aligned; nothing is freed alone; arena_free
   releases all. Exhausted memory ends the process with exit code 3 and one message. */
#ifndef GC_IR_ARENA_H
#define GC_IR_ARENA_H
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct Arena Arena;

Arena *arena_new(void);
void arena_free(Arena *a); /* NULL is allowed */
void *arena_alloc(Arena *a, size_t bytes) __attribute__((returns_nonnull));
_Noreturn void out_of_memory(void); /* one message, exit code 3: for memory of any kind */

char *arena_strdup(Arena *a, const char *s);
char *arena_printf(Arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#define ARENA_NEW(a, T) ((T *)arena_alloc((a), sizeof(T)))
#define ARENA_ARRAY(a, T, n) ((T *)arena_alloc((a), sizeof(T) * (size_t)(n)))

/* A growing array in an arena: VEC(T) declares {T *at; uint32_t n, cap;}, vec_push appends a copy.
   n may be an int. Growing leaves the old elements in the arena: at most as much again. */
#define VEC(T)                                                                                     \
  struct {                                                                                         \
    T *at;                                                                                         \
    uint32_t n, cap;                                                                               \
  }
#define vec_push(a, v, ...)                                                                        \
  ((void)((uint32_t)(v)->n == (v)->cap                                                             \
              ? ((v)->at = arena_grow((a), (v)->at, (v)->n, &(v)->cap, sizeof *(v)->at), 0)        \
              : 0),                                                                                \
   (v)->at[(v)->n++] = __VA_ARGS__)

/* Copies n elements to a block of twice the capacity (at least 8) and updates *cap. */
void *arena_grow(Arena *a, const void *old, uint32_t n, uint32_t *cap, size_t size)
    __attribute__((returns_nonnull));
#endif
