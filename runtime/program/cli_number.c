/* Numbers of the command line: whole ones in digits alone, others as strtod reads them.
   Contract: what is refused has a hint wherever it is clear which number was meant. */
#include "runtime/program/cli.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

bool cli_count(const char *s, uint64_t least, uint64_t most, uint64_t *out) {
  uint64_t v = 0;
  if (!*s) return false;
  for (const char *p = s; *p; p++)
    if (*p < '0' || *p > '9' || !checked_mul(v, 10, &v) ||
        !checked_add(v, (uint64_t)(*p - '0'), &v))
      return false;
  *out = v;
  return v >= least && v <= most;
}

bool cli_real(const char *s, double *out) {
  char *end;
  *out = strtod(s, &end);
  return end != s && *end == 0;
}

bool cli_i32(const char *s, double *out) {
  uint64_t n;
  bool below = *s == '-';
  if (!cli_count(s + below, 0, (uint64_t)INT32_MAX + below, &n)) return false;
  *out = below ? -(double)n : (double)n;
  return true;
}

/* 1_000, 1,000 and 1'000, by groups of three digits. */
static bool is_grouped(const char *s, uint64_t *out) {
  char digits[32];
  size_t n = 0, group = strcspn(s, "_,'");
  const char separator = s[group];
  if (!separator || !group || group > 3) return false;
  for (;; s += group + 1, group = 3) {
    if (strspn(s, "0123456789") != group || n + group >= sizeof digits) return false;
    memcpy(digits + n, s, group);
    n += group;
    if (!s[group]) break;
    if (s[group] != separator) return false;
  }
  digits[n] = 0;
  return cli_count(digits, 0, UINT64_MAX, out);
}

/* Also 1e3 and 1000.0. */
static bool is_whole(const char *s, uint64_t *out) {
  double v;
  if (is_grouped(s, out)) return true;
  if (!cli_real(s, &v) || !(v >= 0 && v < 0x1p53) || v != floor(v)) return false;
  *out = (uint64_t)v;
  return true;
}

/* 0,001 in the place of 0.001. */
static bool has_comma(const char *s, char out[40], double *v) {
  const size_t n = strlen(s);
  if (!strchr(s, ',') || n >= 40) return false;
  memcpy(out, s, n + 1);
  *strchr(out, ',') = '.';
  return cli_real(out, v);
}

bool cli_no_count(const char *option, const char *value, uint64_t least, Err *e) {
  uint64_t whole;
  double part;
  char text[40];
  err_set(e, EXIT_USAGE, "--%s needs a whole number from %" PRIu64 " on, not %s", option, least,
          value);
  if (is_whole(value, &whole) && whole >= least)
    return err_hint(e, "write --%s %" PRIu64, option, whole);
  if (strcmp(option, "epochs") == 0 && (cli_real(value, &part) || has_comma(value, text, &part)) &&
      part > 0)
    return err_hint(e, "--steps N ends the training within an epoch");
  return false;
}

bool cli_no_real(const char *option, const char *needs, const char *value, Err *e) {
  char text[40];
  double v;
  err_set(e, EXIT_USAGE, "--%s needs %s, not %s", option, needs, value);
  if (has_comma(value, text, &v))
    return err_hint(e, "write --%s %s: numbers have a decimal point", option, text);
  return false;
}
