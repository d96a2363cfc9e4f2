/* shipped.S: embeds the texts of data/gpus and data/hosts, concatenated by the Makefile, and of data/mig.txt. The assembler copies them,
 * so that no tool has to turn them into source. list.c says why they are embedded. */
#include "base/embed.h"
    EMBED_SECTION(device)
    .balign 16
    EMBED_BEGIN(device_shipped_texts)
    .incbin GPU_TEXTS
    .byte 0
    EMBED_END(device_shipped_texts)
    EMBED_BEGIN(device_shipped_slices)
    .incbin "data/mig.txt"
    .byte 0
    EMBED_END(device_shipped_slices)
    EMBED_BEGIN(host_shipped_texts)
    .incbin HOST_TEXTS
    .byte 0
    EMBED_END(host_shipped_texts)
    EMBED_LAST
