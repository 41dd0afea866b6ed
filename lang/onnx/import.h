/* Between the way through a graph (import.c) and what is printed of it (print.c). */
#ifndef GC_LANG_ONNX_IMPORT_H
#define GC_LANG_ONNX_IMPORT_H
#include "lang/onnx/graph.h"

/* The text of the program and its weights. */
const OnnxProgram *print_program(Import *im, int64_t version);
#endif
