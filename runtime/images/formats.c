/* The formats that a program compiled with --images decodes. */
#include "runtime/images/formats.h"

const ImageFormat gcrt_image_formats[] = {
    {"PNG", "\x89PNG\r\n\x1a\n", png_decode}, {"JPEG", "\xff\xd8\xff", jpeg_decode}, {0}};
