/* Text of any bytes as a JSON string: what is no UTF-8 becomes U+FFFD. */
#ifndef GC_LANG_JSON_H
#define GC_LANG_JSON_H
#include <jansson.h>

json_t *json_text(const char *s);
#endif
