/* The files that gc's command line names, and those beside its output: none that is written may be
   another one, by whatever name. Contract: called before anything is written. Devices and pipes may
   be shared. */
#include "codegen/build/output.h"
#include "lang/driver/command.h"

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
  return EXIT_DONE;
}
