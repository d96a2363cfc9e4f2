/* shipped.S: script and style of the charts in HTML reports: those of the page (web/), made one text by the Makefile. */
#include "base/embed.h"
    EMBED_SECTION(report)
    EMBED_BEGIN(report_shipped_script)
    .incbin REPORT_SCRIPT
    .byte 0
    EMBED_END(report_shipped_script)
    EMBED_BEGIN(report_shipped_style)
    .incbin "web/charts.css"
    .byte 0
    EMBED_END(report_shipped_style)
    EMBED_LAST
