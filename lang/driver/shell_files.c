/* What shells know of the command, from the table of options: completion for bash, zsh and fish,
   and the man page. Contract: printed for the name that the command is installed under. */
#include "lang/driver/command.h"
#include "lang/driver/option_rows.h"

/* Help as a literal of a shell in single quotes, without the characters that `special` names. */
static void put_quoted(FILE *f, const char *s, const char *special, const char *escape) {
  for (; *s; s++) {
    if (*s == '\'')
      fputs("'\\''", f);
    else if (strchr(special, *s))
      fprintf(f, "%s%c", escape, *s);
    else
      fputc(*s, f);
  }
}

static void put_choices(FILE *f, const OptionRow *r) {
  Choice ch;
  int n = 0;
  for (const char *rest = r->choices; rest && next_choice(&rest, &ch);)
    fprintf(f, "%s%.*s", n++ ? " " : "", (int)ch.n, ch.at);
}

static bool takes_file(const OptionRow *r) { return r->value && strcmp(r->value, "FILE") == 0; }

/* The form with which a word of the command line can begin. */
static const char *behind(const OptionRow *r) { return r->form == FORM_JOINED ? "=" : ""; }

void completion_bash(FILE *f) {
  fprintf(f,
          "# bash completion for " GC_PROGRAM_NAME "; printed by " GC_PROGRAM_NAME " --help=bash\n"
          "_" GC_PROGRAM_NAME "() {\n"
          "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} option= "
          "values=\n"
          "  if [[ $word == = ]]; then\n"
          "    option=$before word=\n"
          "  elif [[ $before == = ]]; then\n"
          "    option=${COMP_WORDS[COMP_CWORD - 2]}\n"
          "  fi\n"
          "  [[ $before == -x ]] && option=-x\n"
          "  case $option in\n");
  for (int i = 0; i < OPTIONS; i++) {
    const OptionRow *r = &option_rows[i];
    if (!r->choices || r->form == FORM_LEVEL) continue;
    fprintf(f, "  %s) values='", r->spelling);
    put_choices(f, r);
    fputs("' ;;\n", f);
  }
  fputs("  esac\n"
        "  if [[ $values ]]; then\n"
        "    mapfile -t COMPREPLY < <(compgen -W \"$values\" -- \"$word\")\n"
        "  elif [[ $word == -* ]]; then\n"
        "    mapfile -t COMPREPLY < <(compgen -W '",
        f);
  for (int i = 0; i < OPTIONS; i++)
    fprintf(f, "%s%s%s", i ? " " : "", option_rows[i].spelling, behind(&option_rows[i]));
  fputs("' -- \"$word\")\n"
        "    [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *= ]] && compopt -o nospace\n"
        "  elif [[ $before == -o ]]; then\n"
        "    mapfile -t COMPREPLY < <(compgen -f -- \"$word\")\n"
        "  else\n"
        "    mapfile -t COMPREPLY < <(compgen -f -X '!*.g' -- \"$word\"; compgen -d -S / -- "
        "\"$word\")\n"
        "  fi\n"
        "}\n"
        "complete -F _" GC_PROGRAM_NAME " " GC_PROGRAM_NAME "\n",
        f);
}

void completion_zsh(FILE *f) {
  static const char *const between[] = {[FORM_FLAG] = "",
                                        [FORM_WORD] = "",
                                        [FORM_JOINED] = "=",
                                        [FORM_MAYBE] = "=-",
                                        [FORM_LEVEL] = "-"};
  fputs("#compdef " GC_PROGRAM_NAME "\n"
        "_arguments -S \\\n",
        f);
  for (int i = 0; i < OPTIONS; i++) {
    const OptionRow *r = &option_rows[i];
    fprintf(f, "  '%s%s%s[", r->id == OPT_DEFINE ? "*" : "", r->spelling, between[r->form]);
    put_quoted(f, r->help, "[]:\\", "\\");
    fputc(']', f);
    if (r->value) fprintf(f, "%s%s:", r->form == FORM_MAYBE ? "::" : ":", r->value);
    if (r->choices) {
      fputc('(', f);
      put_choices(f, r);
      fputc(')', f);
    } else if (takes_file(r)) {
      fputs("_files", f);
    }
    fputs("' \\\n", f);
  }
  fputs("  '*:program:_files -g \"*.g\"'\n", f);
}

void completion_fish(FILE *f) {
  fputs("complete -c " GC_PROGRAM_NAME " -f -k -a '(__fish_complete_suffix .g)'\n", f);
  for (int i = 0; i < OPTIONS; i++) {
    const OptionRow *r = &option_rows[i];
    bool is_long = strncmp(r->spelling, "--", 2) == 0;
    const char *kind = is_long ? "l" : r->spelling[2] ? "o" : "s";
    const char *name = r->spelling + (is_long ? 2 : 1);
    fprintf(f, "complete -c " GC_PROGRAM_NAME " -%s %s", kind, name);
    if (takes_file(r))
      fputs(" -r", f);
    else if (r->form == FORM_JOINED || r->form == FORM_WORD)
      fputs(" -x", f);
    if (r->choices) {
      fputs(" -a '", f);
      put_choices(f, r);
      fputc('\'', f);
    }
    fputs(" -d '", f);
    put_quoted(f, r->help, "\\", "\\");
    fputs("'\n", f);
  }
}

/* ---- the man page ---- */

static void put_roff(FILE *f, const char *s) {
  for (; *s; s++) {
    if (*s == '\\')
      fputs("\\e", f);
    else if (*s == '-')
      fputs("\\-", f);
    else
      fputc(*s, f);
  }
}

static void put_option(FILE *f, const OptionRow *r) {
  fputs(".TP\n\\fB", f);
  put_roff(f, r->spelling);
  fprintf(f, "\\fR%s", before_value[r->form]);
  if (r->value) fprintf(f, "\\fI%s\\fR", r->value);
  fputs(r->form == FORM_MAYBE ? "]\n" : "\n", f);
  put_roff(f, r->help);
  fputc('\n', f);
  if (!r->choices || r->form == FORM_LEVEL) return;
  fprintf(f, ".br\n\\fI%s\\fR: ", r->value);
  Choice ch;
  int n = 0;
  for (const char *rest = r->choices; next_choice(&rest, &ch);) {
    if (n++) fputs(", ", f);
    for (size_t i = 0; i < ch.n; i++) fputs(ch.at[i] == '-' ? "\\-" : (char[]){ch.at[i], 0}, f);
  }
  fputc('\n', f);
}

void man_page(FILE *f) {
  fputs(".TH " GC_PROGRAM_NAME " 1 \"\" \"gc " GC_VERSION "\"\n"
        ".SH NAME\n" GC_PROGRAM_NAME " \\- compile a neural network to one executable\n"
        ".SH SYNOPSIS\n"
        ".B " GC_PROGRAM_NAME "\n[\\fIoptions\\fR] \\fIFILE.g\\fR\n.br\n"
        ".B " GC_PROGRAM_NAME " \\-\\-pack\n\\fIFILE.csv\\fR [\\fIoptions\\fR]\n"
        ".SH DESCRIPTION\n"
        "Compiles a program of a neural network to an executable that trains it and runs it. Every "
        "byte of\nits memory is placed at compile time; \\fB\\-\\-dump\\-plan\\fR shows where and "
        "why. The executable\nanswers \\fB\\-\\-help\\fR and \\fBinfo\\fR.\n"
        ".SH OPTIONS\n",
        f);
  for (int i = 0; i < OPTION_LINES; i++) {
    if (option_lines[i].group)
      fprintf(f, ".SS %s\n", option_lines[i].group);
    else
      put_option(f, &option_rows[option_lines[i].option]);
  }
  fputs(".SH EXIT STATUS\n"
        "0 done, 1 the program is wrong, 2 the command line is wrong, 3 the environment is (no "
        "compiler, no\nspace), 70 an internal error, which writes a reproducer.\n"
        ".SH FILES\n"
        "\\fI$XDG_CACHE_HOME/gc\\fR or \\fI~/.cache/gc\\fR: compiled kernels, for the next "
        "compilation.\n",
        f);
}
