/* mig_svg.c: draws a layout: the memory slots of each GPU, with slices as boxes in the colour of their model. */
#include "report/mig_report.h"

#include <stdlib.h>
#include <string.h>

enum { LEFT = 70, TOP = 46, SLOT = 84, ROW = 64, BOX = 44, LEGEND = 24, PAINTS = 10 };
static const char *const PAINT[PAINTS] = {"#9ecae1", "#a1d99b", "#fdae6b", "#bcbddc", "#fc9272",
                                          "#c7e9c0", "#fdd0a2", "#dadaeb", "#9edae5", "#d9d9d9"};

static const char *shortened(mig_report *r, const char *name, size_t width)
{
    text t = {.fail = r->out->fail};
    text_name(&t, name, width, false);
    const char *kept = arena_str(r->scratch, (str){t.bytes ? t.bytes : "", t.size}).ptr;
    free(t.bytes);
    return kept;
}

static void centred(mig_report *r, int x, int y, int size, const char *s)
{
    text_printf(r->out, "<text x=\"%d\" y=\"%d\" font-size=\"%d\" text-anchor=\"middle\">", x, y, size);
    text_xml(r->out, s);
    text_puts(r->out, "</text>\n");
}

static void gpu_row(mig_report *r, size_t g)
{
    int y = TOP + (int)g * ROW;
    text_printf(r->out, "<text x=\"12\" y=\"%d\" font-size=\"13\">GPU %zu</text>\n", y + BOX / 2 + 5, g);
    for (int i = 0; i < r->totals.slots; i++)
        text_printf(r->out,
                    "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"none\" stroke=\"#bbb\" "
                    "stroke-dasharray=\"3 3\"/>\n",
                    LEFT + i * SLOT, y, SLOT, BOX);
    for (size_t i = 0; i < sooth_mig_placed_count(r->plan, g); i++) {
        sooth_mig_placed s = sooth_mig_placed_at(r->plan, g, i);
        int x = LEFT + s.start * SLOT, width = s.slots * SLOT;
        text_printf(r->out,
                    "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"4\" fill=\"%s\" stroke=\"#444\"/>\n",
                    x + 1, y + 1, width - 2, BOX - 2, PAINT[s.workload % PAINTS]);
        centred(r, x + width / 2, y + 18, 13, s.profile);
        centred(r, x + width / 2, y + 35, 12, mig_letter(r, s.workload));
    }
}

void mig_write_svg(mig_report *r)
{
    int rows = (int)r->totals.gpu_count, models = (int)r->totals.workload_count;
    int width = LEFT + r->totals.slots * SLOT + 20, height = TOP + rows * ROW + models * LEGEND + 20;
    text_printf(r->out,
                "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" "
                "font-family=\"sans-serif\">\n<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
                width, height, width, height);
    text_puts(r->out, "<text x=\"12\" y=\"24\" font-size=\"15\" font-weight=\"bold\">");
    text_printf(r->out, "%d x ", rows);
    text_xml(r->out, r->totals.gpu);
    text_puts(r->out, "</text>\n");
    for (int i = 0; i < r->totals.slots; i++)
        centred(r, LEFT + i * SLOT + SLOT / 2, TOP - 6, 10, arena_printf(r->scratch, "%d", i).ptr);
    for (size_t g = 0; g < r->totals.gpu_count; g++)
        gpu_row(r, g);
    for (size_t i = 0; i < r->totals.workload_count; i++) {
        int y = TOP + rows * ROW + (int)i * LEGEND;
        sooth_mig_planned w = sooth_mig_planned_at(r->plan, i);
        text_printf(r->out,
                    "<rect x=\"12\" y=\"%d\" width=\"16\" height=\"16\" rx=\"3\" fill=\"%s\" stroke=\"#444\"/>\n", y,
                    PAINT[i % PAINTS]);
        text_printf(r->out, "<text x=\"36\" y=\"%d\" font-size=\"13\">%s  ", y + 13, mig_letter(r, i));
        text_xml(r->out, shortened(r, w.name, 80));
        text_printf(r->out, ", batch %lld</text>\n", (long long)w.batch);
    }
    text_puts(r->out, "</svg>\n");
}
