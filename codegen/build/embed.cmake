# Writes OUT, a C file with one `const char PREFIX<name>[]` for each of FILES. Every byte is a number,
# since a string literal has a limit in C that these texts pass. With TABLE also `const char *const TABLE[]`: of each
# its name and its text, then NULL.
set(text "/* made by embed.cmake */\n")
foreach(file IN LISTS FILES)
  get_filename_component(name ${file} NAME_WE)
  file(READ ${file} hex HEX)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
  string(APPEND text "extern const char ${PREFIX}${name}[];\nconst char ${PREFIX}${name}[] = {${bytes}0};\n")
endforeach()
if(TABLE)
  set(rows "")
  foreach(file IN LISTS FILES)
    get_filename_component(name ${file} NAME_WE)
    string(APPEND rows "\"${name}\", ${PREFIX}${name}, ")
  endforeach()
  string(APPEND text "extern const char *const ${TABLE}[];\nconst char *const ${TABLE}[] = {${rows}0};\n")
endif()
file(WRITE ${OUT} "${text}")
