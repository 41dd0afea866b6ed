/* Tells files that gc wrote from others: gc replaces only its own files, and empty ones.
   Contract: see output.h. An executable or a library is known by the ELF note of its runtime
   (runtime/exec/session.c), a text by its first line, a form of a target by what its row says
   (BackendForm). */
#define _GNU_SOURCE
#include "codegen/build/library.h"
#include "codegen/build/output.h"

#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char note_owner[] = "gcrt";

static const char *const marks[] = {
    LIBRARY_MARK,                 /* a library's header and its functions */
    SCRIPT_MARK,                  /* ... its Python module, and what builds of others read */
    "# Parsed by gc ",            /* --emit=ast */
    "# Imported by gc ",          /* --emit=g */
    "module \"",                  /* --emit=ir */
    "{\"gc\": \"",                /* --emit=plan */
    "id,lower,upper,size,offset", /* --pack */
    "\010\010\022\002gc\032",     /* --emit=onnx: its version, and the producer's name */
    "Data of a model by gc ",     /* the file beside it */
};

static bool begins(const char *text, const char *with) {
  return strncmp(text, with, strlen(with)) == 0;
}

static bool is_form(const char *text, const BackendForm *f) {
  const char *holds = f->holds ? strstr(text, f->holds) : text;
  return f->begins && begins(text, f->begins) && holds &&
         (size_t)(holds - text) <= strcspn(text, "\n");
}

/* Weights as --emit=g writes them, behind the length of the header; those of a program's --save are
   the work of a training. */
static bool is_weights_of_gc(const char *text, ssize_t n) {
  static const char begin[] = "{\"__metadata__\":{\"format\":\"gc\",\"gc.by\":\"import\"";
  return n >= (ssize_t)(8 + sizeof begin - 1) && memcmp(text + 8, begin, sizeof begin - 1) == 0;
}

static bool is_text_of_gc(const char *text) {
  for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
    if (begins(text, marks[i])) return true;
  for (int i = 0; i < BACKENDS; i++)
    for (const BackendForm *f = backends[i]->forms; f->name; f++)
      if (is_form(text, f)) return true;
  return false;
}

/* Of the first file in the zip, which is not compressed. */
static bool is_wheel_of_gc(const char *text, ssize_t n) {
  return begins(text, "PK\3\4") && memmem(text, (size_t)n, WHEEL_MARK, sizeof WHEEL_MARK - 1);
}

static bool read_at(int fd, uint64_t at, void *to, size_t n) {
  return at < INT64_MAX && pread(fd, to, n, (off_t)at) == (ssize_t)n;
}

/* Notes from `at` on: owner and description, each padded to 4 bytes. */
static bool has_note(int fd, uint64_t at, uint64_t n) {
  enum { OWNER = sizeof note_owner };
  Elf64_Nhdr h;
  char owner[OWNER];
  for (uint64_t end = at + n; at + sizeof h <= end && read_at(fd, at, &h, sizeof h);) {
    at += sizeof h;
    if (h.n_namesz == OWNER && read_at(fd, at, owner, OWNER) &&
        memcmp(owner, note_owner, OWNER) == 0)
      return true;
    at += ((uint64_t)h.n_namesz + 3) / 4 * 4 + ((uint64_t)h.n_descsz + 3) / 4 * 4;
  }
  return false;
}

static bool is_elf_of_gc(int fd) {
  Elf64_Ehdr e;
  Elf64_Phdr p;
  if (!read_at(fd, 0, &e, sizeof e) || memcmp(e.e_ident, ELFMAG, SELFMAG) != 0 ||
      e.e_ident[EI_CLASS] != ELFCLASS64 || e.e_ident[EI_DATA] != ELFDATA2LSB)
    return false;
  for (int i = 0; i < BACKENDS; i++)
    for (const BackendForm *f = backends[i]->forms; f->name; f++)
      if (f->elf_machine && f->elf_machine == e.e_machine) return true;
  for (int i = 0; i < e.e_phnum; i++)
    if (read_at(fd, e.e_phoff + (uint64_t)i * sizeof p, &p, sizeof p) && p.p_type == PT_NOTE &&
        has_note(fd, p.p_offset, p.p_filesz))
      return true;
  return false;
}

bool output_is_own(const char *path) {
  struct stat st;
  char text[4096] = "";
  if (stat(path, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size == 0) return true;
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  ssize_t n = pread(fd, text, sizeof text - 1, 0);
  bool own = n > 0 && (is_text_of_gc(text) || is_weights_of_gc(text, n) ||
                       is_wheel_of_gc(text, n) || is_elf_of_gc(fd));
  close(fd);
  return own;
}
