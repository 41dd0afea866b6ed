/* Reads a file of ONNX. Contract: protobuf-c checks the encoding; messages that nest are unpacked
   one level at a time, so the depth of the stack is the schema's. All memory is the context's. */
#include "lang/onnx/graph.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static void *take(void *arena, size_t n) { return arena_alloc(arena, n ? n : 1); }

static void keep(void *arena, void *p) {}

/* The whole file, malloc'ed; NULL with errno set. */
static uint8_t *read_whole(const char *path, size_t *n) {
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  struct stat st;
  if (fd < 0) return NULL;
  uint8_t *bytes = NULL;
  if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
    errno = S_ISDIR(st.st_mode) ? EISDIR : EINVAL;
  else if (!(bytes = malloc((size_t)st.st_size + 1)))
    errno = ENOMEM;
  *n = 0;
  for (ssize_t r = 1; bytes && r > 0 && *n < (size_t)st.st_size;) {
    r = read(fd, bytes + *n, (size_t)st.st_size - *n);
    if (r < 0 && errno == EINTR)
      r = 1;
    else if (r < 0)
      free(bytes), bytes = NULL;
    else
      *n += (size_t)r;
  }
  int error = errno;
  close(fd);
  errno = error;
  return bytes;
}

/* What a file that is no model is, by its first bytes; NULL: that is not known. */
static const char *other_kind(const uint8_t *bytes, size_t n) {
  size_t text = 0;
  if (n >= 2 && memcmp(bytes, "PK", 2) == 0)
    return "it is an archive, such as torch.save writes; in Python: torch.onnx.export(model, "
           "inputs, 'model.onnx')";
  if (n >= 9 && bytes[8] == '{' && !bytes[7])
    return "it looks like weights in safetensors, which --weights puts into a model or a program";
  while (text < n && text < 256 &&
         (bytes[text] >= ' ' || (bytes[text] && strchr("\t\r\n", bytes[text]))))
    text++;
  return n && text == (n < 256 ? n : 256)
             ? "it is text; without -x onnx it is read as a program of gc"
             : NULL;
}

const Onnx__ModelProto *model_read(Ctx *c, const char *path, Loc at, bool *unreadable) {
  size_t n;
  uint8_t *bytes = read_whole(path, &n);
  *unreadable = !bytes;
  if (!bytes) {
    const bool folder = errno == EISDIR;
    diag(c, SEV_ERROR, at, "cannot read %s: %s", path, strerror(errno));
    if (folder) diag(c, SEV_HINT, (Loc){0}, "name the model in it, as %s/model.onnx", path);
    return NULL;
  }
  ProtobufCAllocator allocator = {take, keep, ctx_arena(c)};
  const Onnx__ModelProto *m = onnx__model_proto__unpack(&allocator, n, bytes);
  const char *other = m ? NULL : other_kind(bytes, n);
  free(bytes);
  const char *what = !m          ? "is damaged, or no model of ONNX"
                     : !m->graph ? "holds no graph of ONNX"
                                 : NULL;
  if (what) diag(c, SEV_ERROR, at, "%s %s", path, what);
  if (other) diag(c, SEV_HINT, (Loc){0}, "%s", other);
  return what ? NULL : m;
}
