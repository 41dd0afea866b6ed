/* The files that gc's command line names, and those beside its output: none that is written may be
   another one, by whatever name, or replace what gc did not write. Contract: called before anything
   is written. Devices and pipes may be shared. */
#include "codegen/build/output.h"
#include "lang/driver/command.h"

#include <sys/stat.h>

bool is_directory(const char *path) {
  struct stat st;
  return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static int refuse(const FileUse *w, const FileUse *other) {
  if (other->writes)
    return usage_error("%s and %s would both write %s", other->option, w->option, w->path);
  return usage_error("%s would replace %s", w->option, other->option);
}

int files_check(const FileUse *use, int n) {
  for (int i = 0; i < n; i++)
    for (int k = 0; k < i; k++)
      if ((use[i].writes || use[k].writes) && output_is_same(use[i].path, use[k].path))
        return use[i].writes ? refuse(&use[i], &use[k]) : refuse(&use[k], &use[i]);
  for (int i = 0; i < n; i++) {
    const FileUse *u = &use[i];
    if (!u->writes || u->by_shell) continue;
    if (is_directory(u->path))
      return usage_error("%s would be %s, which is a directory; name a file with -o", u->option,
                         u->path);
    if (!output_is_own(u->path))
      return usage_error("%s would replace %s, which gc did not write; remove it, or name another "
                         "file with -o",
                         u->option, u->path);
  }
  return EXIT_DONE;
}
