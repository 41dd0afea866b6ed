/* The tools of programs that take tokens, and what they share. */
#ifndef GCRT_TEXT_TOOLS_H
#define GCRT_TEXT_TOOLS_H
#include "runtime/program/tools.h"
#include "runtime/text/arguments.h"
#include "runtime/tokens/tokenizer.h"

int tokenize_run(const char *program, int argc, char **argv, Err *e);
int chat_run(const char *program, int argc, char **argv, Err *e);
int detokenize_run(const char *program, int argc, char **argv, Err *e);
#endif
