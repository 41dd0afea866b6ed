/* What tells builds of others where a library is: a file for pkg-config and one for CMake beside
   it. Contract: both name their own folder, so that the files may be moved together. */
#include "codegen/build/library.h"
#include "codegen/text/text.h"

#include <ctype.h>
#include <string.h>

static void print_mark(const Library *l, FILE *f) {
  fprintf(f, SCRIPT_MARK "%s from %s; do not edit.\n", l->o->version ? l->o->version : "",
          l->source);
}

/* For a shell, as pkg-config's flags are; a $ of its own is written twice. */
static const char *shell_word(Arena *a, const char *s) {
  Text x = text_new(a, 0);
  for (; *s; s++) {
    bool plain = isalnum((unsigned char)*s) || (*s & 128) || strchr("_-+.,:/@%", *s);
    text_add(&x, "%s%s%c", plain ? "" : "\\", *s == '$' ? "$" : "", *s);
  }
  return text_str(&x);
}

static void print_pc(const Library *l, FILE *f) {
  print_mark(l, f);
  fprintf(f,
          "folder=${pcfiledir}\n\nName: %s\nDescription: the model of %s\nVersion: %s\n"
          "Cflags: -I${folder}\nLibs: ${folder}/%s -Wl,-rpath,${folder}\n",
          l->name, l->source, l->o->version ? l->o->version : "0", shell_word(l->a, l->file));
}

/* Between the quotes of a string of CMake. */
static const char *cmake_string(Arena *a, const char *s) {
  Text x = text_new(a, 0);
  for (; *s; s++) text_add(&x, "%s%c", strchr("\\\"$", *s) ? "\\" : "", *s);
  return text_str(&x);
}

static void print_cmake(const Library *l, FILE *f) {
  const char *file = cmake_string(l->a, l->file);
  Text target = text_new(l->a, 0);
  for (const char *s = l->name; *s; s++)
    text_add(&target, "%c", isalnum((unsigned char)*s) || strchr("_-+.", *s) ? *s : '_');
  const char *name = arena_printf(l->a, "%s::%s", text_str(&target), text_str(&target));
  print_mark(l, f);
  const bool mpi =
      l->o->ranks && strcmp(l->o->ranks_by, "mpi") == 0; /* the header includes MPI's */
  if (mpi) fputs("include(CMakeFindDependencyMacro)\nfind_dependency(MPI COMPONENTS C)\n", f);
  fprintf(f,
          "if(NOT TARGET %s)\n"
          "  add_library(%s SHARED IMPORTED)\n"
          "  set_target_properties(%s PROPERTIES\n"
          "    IMPORTED_LOCATION \"${CMAKE_CURRENT_LIST_DIR}/%s\"\n"
          "    IMPORTED_SONAME \"%s\"\n"
          "    INTERFACE_INCLUDE_DIRECTORIES \"${CMAKE_CURRENT_LIST_DIR}\"%s)\n"
          "endif()\n",
          name, name, name, file, file, mpi ? "\n    INTERFACE_LINK_LIBRARIES MPI::MPI_C" : "");
}

const LibraryFace library_faces[CODEGEN_FACES] = {
    {"the header", ".h", library_print_header},
    {"the file for pkg-config", ".pc", print_pc},
    {"the file for CMake", "Config.cmake", print_cmake},
};

const char *codegen_face(Ctx *c, const char *out, int i) {
  const char *slash = strrchr(out, '/');
  return intern_printf(c, "%.*s%s%s", slash ? (int)(slash + 1 - out) : 0, out,
                       codegen_lib_name(c, out), library_faces[i].suffix);
}

const char *codegen_face_what(int i) { return library_faces[i].what; }
