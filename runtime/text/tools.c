/* The tools that a program compiled with --tokens has. */
#include "runtime/text/text_tools.h"

const Tool gcrt_tools[] = {{"tokenize", "TEXT… --tokenizer FILE.json -o FILE.npy", tokenize_run},
                           {"detokenize", "FILE.npy --tokenizer FILE.json", detokenize_run},
                           {"chat", "[--load FOLDER] [--prompt TEXT]", chat_run},
                           {0}};
