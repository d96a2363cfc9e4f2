/* shipped.S: the weights that `sooth learn` made, as data/weights.bin has them, and the constants of slices (data/slices.txt) and of power
 * (data/energy.txt), and how benchmarks ran (data/benchmarks.txt). Zeros follow the weights, so that
 * an empty file reads as no weights. */
#include "base/embed.h"
    EMBED_SECTION(predict)
    .balign 16
    EMBED_BEGIN(shipped_weights)
    .incbin WEIGHTS_FILE
    .zero 128
    EMBED_END(shipped_weights)
    EMBED_BEGIN(slice_shipped_text)
    .incbin "data/slices.txt"
    .byte 0
    EMBED_END(slice_shipped_text)
    EMBED_BEGIN(shipped_energy)
    .incbin "data/energy.txt"
    .byte 0
    EMBED_END(shipped_energy)
    EMBED_BEGIN(source_shipped_text)
    .incbin "data/benchmarks.txt"
    .byte 0
    EMBED_END(source_shipped_text)
    EMBED_LAST
