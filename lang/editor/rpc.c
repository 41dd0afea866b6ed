/* Messages of the Language Server Protocol: a header with the length, then JSON. */
#include "ir/support/arena.h"
#include "lang/editor/lsp.h"

#include <stdlib.h>
#include <strings.h>

enum { MOST_BYTES = 1 << 28 }; /* of a message: more is no text of a program */

/* The length that the header gives; 0 at the end of the input, -1 where there is none. */
static long read_header(FILE *in) {
  char line[256];
  long n = -1;
  bool any = false;
  while (fgets(line, sizeof line, in)) {
    any = true;
    if (line[0] == '\r' || line[0] == '\n') return n > 0 && n <= MOST_BYTES ? n : -1;
    if (strncasecmp(line, "Content-Length:", 15) == 0) n = strtol(line + 15, NULL, 10);
  }
  return any ? -1 : 0;
}

RpcResult rpc_read(FILE *in, json_t **message) {
  long n = read_header(in);
  if (n <= 0) return n ? RPC_NO_FRAME : RPC_END;
  char *text = malloc((size_t)n);
  if (!text) out_of_memory();
  bool whole = fread(text, 1, (size_t)n, in) == (size_t)n;
  *message = whole ? json_loadb(text, (size_t)n, JSON_ALLOW_NUL, NULL) : NULL;
  free(text);
  if (json_is_object(*message)) return RPC_MESSAGE;
  json_decref(*message);
  return whole ? RPC_NO_JSON : RPC_NO_FRAME;
}

void rpc_write(FILE *out, json_t *message) {
  char *text = json_dumps(message, JSON_COMPACT);
  if (!text) out_of_memory();
  fprintf(out, "Content-Length: %zu\r\n\r\n%s", strlen(text), text);
  fflush(out);
  free(text);
  json_decref(message);
}
