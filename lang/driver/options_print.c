/* Prints the options: --help, the table of the docs, and the command line of a reproducer. */
#include "lang/driver/option_rows.h"

const OptionLine option_lines[OPTION_LINES] = {
#define GROUP(title) {title, OPTIONS},
#define OPTION(id, ...) {NULL, OPT_##id},
#include "lang/driver/options.def"
#undef GROUP
#undef OPTION
};

enum { HELP_COLUMN = 27, HELP_WIDTH = 100 };

const char *const before_value[] = {[FORM_FLAG] = "",
                                    [FORM_WORD] = " ",
                                    [FORM_JOINED] = "=",
                                    [FORM_MAYBE] = "[=",
                                    [FORM_LEVEL] = ""};

/* Prints an option as it is written; returns the width. */
static int print_spelling(FILE *f, const OptionRow *r) {
  return fprintf(f, "%s%s%s%s", r->spelling, before_value[r->form], r->value ? r->value : "",
                 r->form == FORM_MAYBE ? "]" : "");
}

/* "a, b, c" or with what stands between and around them. */
static void print_choices(FILE *f, const OptionRow *r, const char *between) {
  Choice ch;
  int n = 0;
  for (const char *rest = r->choices; rest && next_choice(&rest, &ch);)
    fprintf(f, "%s%.*s", n++ ? between : "", (int)ch.n, ch.at);
}

static void print_help(FILE *f, const char *text) {
  int column = HELP_COLUMN;
  for (const char *p = text; *p;) {
    int n = (int)strcspn(p, " ");
    if (p != text && column + 1 + n > HELP_WIDTH) {
      fprintf(f, "\n%*s", HELP_COLUMN, "");
      column = HELP_COLUMN;
    } else if (p != text) {
      fputc(' ', f);
      column++;
    }
    fprintf(f, "%.*s", n, p);
    column += n;
    p += n + (p[n] == ' ');
  }
  fputc('\n', f);
}

static void print_option(FILE *f, const OptionRow *r) {
  fputs("  ", f);
  int width = 2 + print_spelling(f, r);
  if (width + 1 > HELP_COLUMN)
    fprintf(f, "\n%*s", HELP_COLUMN, "");
  else
    fprintf(f, "%*s", HELP_COLUMN - width, "");
  print_help(f, r->help);
  if (r->form == FORM_LEVEL || !r->choices) return;
  fprintf(f, "%*s%s: ", HELP_COLUMN, "", r->value);
  print_choices(f, r, ", ");
  fputc('\n', f);
}

void options_help(FILE *f) {
  fputs("usage: gc [options] FILE.g              compile to an executable\n"
        "       gc [options] FILE.g ENTRY        with --emit=onnx: the entry as a model of ONNX;\n"
        "                                        with --dump-plan: its plan alone\n"
        "       gc --pack FILE.csv [options]     pack buffers\n",
        f);
  for (int i = 0; i < OPTION_LINES; i++) {
    if (option_lines[i].group)
      fprintf(f, "\n%s\n", option_lines[i].group);
    else
      print_option(f, &option_rows[option_lines[i].option]);
  }
  fputs("\nexit codes: 0 done, 1 the program is wrong, 2 the command line is wrong, 3 the "
        "environment is\n"
        "(no compiler, no space), 70 an internal error (which writes a reproducer)\n",
        f);
}

void options_markdown(FILE *f) {
  for (int i = 0; i < OPTION_LINES; i++) {
    if (option_lines[i].group) {
      fprintf(f, "%s### %s\n\n| option | meaning |\n|---|---|\n", i ? "\n" : "",
              option_lines[i].group);
      continue;
    }
    const OptionRow *r = &option_rows[option_lines[i].option];
    fputs("| `", f);
    print_spelling(f, r);
    fprintf(f, "` | %s", r->help);
    if (r->form != FORM_LEVEL && r->choices) {
      fprintf(f, "; %s: `", r->value);
      print_choices(f, r, "`, `");
      fputc('`', f);
    }
    fputs(" |\n", f);
  }
}

/* Quoted for a shell: ' becomes '\'' */
static void print_word(FILE *f, const char *s) {
  bool plain = s[strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789,.-_+")] == 0;
  if (!plain) fputc('\'', f);
  for (; *s; s++) fputs(*s == '\'' ? "'\\''" : (char[]){*s, 0}, f);
  if (!plain) fputc('\'', f);
}

void options_print(FILE *f, const Options *o) {
  for (int i = 0; i < OPTIONS; i++) {
    const OptionRow *r = &option_rows[i];
    if (!o->value[i] || i == OPT_LANGUAGE || i == OPT_DEFINE) continue;
    bool bare = r->form == FORM_FLAG || (r->form == FORM_MAYBE && !o->value[i][0]);
    const char *between = bare || r->form == FORM_LEVEL ? "" : r->form == FORM_WORD ? " " : "=";
    uint32_t n = i == OPT_CONFIG ? o->configs.n : 1;
    for (uint32_t k = 0; k < n; k++) {
      fprintf(f, " %s%s", r->spelling, between);
      if (!bare) print_word(f, i == OPT_CONFIG ? o->configs.at[k] : o->value[i]);
    }
  }
}
