/* shipped.S: the texts of data/plans/dippm.txt (study_plan.c) and data/libraries.txt (conv_constants.c) as they are. */
#include "base/embed.h"
    EMBED_SECTION(plan)
    EMBED_BEGIN(study_shipped_dippm)
    .incbin "data/plans/dippm.txt"
    .byte 0
    EMBED_END(study_shipped_dippm)
    EMBED_BEGIN(plan_shipped_libraries)
    .incbin "data/libraries.txt"
    .byte 0
    EMBED_END(plan_shipped_libraries)
    EMBED_LAST
