# Writes OUTPUT, a C source in which the bytes of INPUT are what prelude_text() gives.
file(READ "${INPUT}" hex HEX)
string(LENGTH "${hex}" digits)
math(EXPR bytes "${digits} / 2")
string(REPEAT "[0-9a-f]" 32 line) # 16 bytes a line
string(REGEX REPLACE "(${line})" "\\1\n" hex "${hex}")
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," list "${hex}")
file(WRITE "${OUTPUT}" "/* The prelude, compiled into gc; made from prelude.g. */
#include \"lang/elab.h\"

static const unsigned char text[] = {
${list}0};

const char *prelude_text(size_t *len) {
  *len = ${bytes};
  return (const char *)text;
}
")
