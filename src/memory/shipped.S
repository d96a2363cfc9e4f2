/* shipped.S: the text of data/memory.txt as it is, inside the library for the reason that src/device/list.c gives. */
#include "base/embed.h"
    EMBED_SECTION(memory)
    .balign 16
    EMBED_BEGIN(memory_shipped_text)
    .incbin MEMORY_TEXT
    .byte 0
    EMBED_END(memory_shipped_text)
    EMBED_LAST
