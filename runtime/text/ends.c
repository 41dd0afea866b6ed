/* Reads which tokens have a meaning. Contract: see ends.h. */
#include "runtime/text/ends.h"
#include "runtime/tokens/tree.h"
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

static bool read_file(Ids *ends, const char *path, const char *key, Err *e) {
  Tree t;
  struct stat st;
  if (stat(path, &st) != 0) return true;
  if (!tree_read(&t, path, "configuration", 1 << 24, e)) return false;
  const TreeNode *n = tree_get(&t, tree_root(&t), key);
  const TreeNode *id = n->kind == TREE_LIST ? tree_child(&t, n) : n;
  bool ok = true;
  for (uint64_t k; ok && id && tree_has(id); id = n->kind == TREE_LIST ? tree_next(&t, id) : NULL)
    ok = tree_count(&t, id, TOKENS - 1, &k) &&
         (ids_add(ends, (uint32_t)k) ||
          err_set(e, EXIT_ENV, "no memory for tokens of a configuration"));
  tree_free(&t);
  return ok;
}

bool ends_read(Ids *ends, const char *folder, const char *key, Err *e) {
  static const char *const names[] = {"generation_config.json", "config.json"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    size_t n = strlen(folder) + strlen(names[i]) + 2;
    char *path = malloc(n);
    if (!path) return err_set(e, EXIT_ENV, "no memory for a file name");
    snprintf(path, n, "%s/%s", folder, names[i]);
    bool ok = read_file(ends, path, key, e);
    free(path);
    if (!ok) return false;
  }
  return true;
}

bool ends_beside(Ids *ends, const char *path, const char *key, Err *e) {
  const char *slash = strrchr(path, '/');
  char *folder = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
  if (!folder) return err_set(e, EXIT_ENV, "no memory for a file name");
  bool ok = ends_read(ends, folder, key, e);
  free(folder);
  return ok;
}
