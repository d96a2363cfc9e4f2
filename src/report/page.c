#include "report/page.h"

#include <math.h>
#include <stdio.h>

static const char STYLE[] =
    ":root{color-scheme:light dark;--ink:#1b1f24;--paper:#fff;--card:#f4f5f7;--faint:#667080;--line:#d5d9e0;"
    "--compute:#2f6fde;--memory:#d9822b;--launch:#9aa3b2;--none:#c9ced6}\n"
    "@media(prefers-color-scheme:dark){:root{--ink:#e6e9ee;--paper:#14171b;--card:#1e2329;--faint:#97a1b0;"
    "--line:#343b45;--compute:#6da3ff;--memory:#f0a95b;--launch:#6d7786;--none:#454d59}}\n"
    "body{margin:0 auto;max-width:1100px;padding:24px;background:var(--paper);color:var(--ink);"
    "font:15px/1.5 system-ui,sans-serif}\n"
    "h1{font-size:22px;margin:0;overflow-wrap:anywhere}h2{font-size:17px;margin:32px 0 8px}"
    "p{margin:4px 0;color:var(--faint)}p.note{color:var(--ink)}svg+.wide{margin-top:12px}\n"
    ".cards{display:flex;flex-wrap:wrap;gap:12px;margin:20px 0}.card{background:var(--card);border-radius:8px;"
    "padding:10px 16px;flex:1 1 150px}.card b{display:block;font-size:21px}.card span{color:var(--faint);"
    "font-size:13px}\n"
    "svg{display:block;width:100%;height:auto}svg text{fill:var(--faint);font-size:12px}\n"
    ".compute{fill:var(--compute)}.memory{fill:var(--memory)}.launch{fill:var(--launch)}.none{fill:var(--none)}\n"
    "circle{fill-opacity:.7}circle:hover{fill:var(--ink)}.grid{stroke:var(--line)}\n"
    ".key{display:inline-block;width:11px;height:11px;border-radius:3px;margin:0 5px 0 14px}"
    ".key.part-context{background:var(--part-context)}.key.part-weights{background:var(--part-weights)}"
    ".key.part-optimizer{background:var(--part-optimizer)}.key.part-inputs{background:var(--part-inputs)}"
    ".key.part-gradients{background:var(--part-gradients)}.key.part-activations{background:var(--part-activations)}"
    ".key.part-workspace{background:var(--part-workspace)}.key.part-cache{background:var(--part-cache)}"
    ".key.compute{background:var(--compute)}.key.memory{background:var(--memory)}.key.launch{background:var(--launch)}"
    "\n"
    ".wide{overflow-x:auto}table{border-collapse:collapse;width:100%;font-size:13px}"
    "th{cursor:pointer;text-align:left;border-bottom:2px solid var(--line);padding:4px 8px;white-space:nowrap}"
    "td{border-bottom:1px solid var(--line);padding:3px 8px}td.n,th.n{text-align:right;white-space:nowrap;"
    "font-variant-numeric:tabular-nums}\n";

/* A click on a heading sorts by its column, a second one reverses the order. */
static const char SCRIPT[] =
    "document.querySelectorAll('th').forEach(function (th) {\n"
    "  th.addEventListener('click', function () {\n"
    "    var body = th.closest('table').tBodies[0], rows = Array.from(body.rows), column = th.cellIndex;\n"
    "    var down = th.dataset.down = th.dataset.down === '1' ? '0' : '1';\n"
    "    var key = function (row) { var c = row.cells[column]; return c.dataset.v ? Number(c.dataset.v) : "
    "c.textContent; };\n"
    "    rows.sort(function (a, b) {\n"
    "      var x = key(a), y = key(b), order = typeof x === 'number' ? x - y : x.localeCompare(y);\n"
    "      return down === '1' ? -order : order;\n"
    "    });\n"
    "    rows.forEach(function (row) { body.appendChild(row); });\n"
    "  });\n"
    "});\n";

void page_open(text *t)
{
    text_puts(t, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
                 "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n<title>");
}

void page_begin_body(text *t, const char *more_style)
{
    text_printf(t, "</title>\n<style>\n%s%s</style>\n</head>\n<body>\n<h1>", STYLE, more_style);
}

void page_begin_script(text *t)
{
    text_printf(t, "<script>\n//<![CDATA[\n%s", SCRIPT);
}

void page_end_script(text *t)
{
    text_puts(t, "//]]>\n</script>\n</body>\n</html>\n");
}

void page_close(text *t)
{
    page_begin_script(t);
    page_end_script(t);
}

void page_coordinate(text *t, const char *name, double x)
{
    char room[NUMBER_ROOM];
    text_printf(t, " %s=\"%s\"", name, number_real(room, round(x * 100) / 100));
}

void page_cell(text *t, const char *s)
{
    text_puts(t, "<td>");
    text_xml(t, s);
    text_puts(t, "</td>");
}

void page_number_cell(text *t, double x, const char *shown)
{
    char room[NUMBER_ROOM];
    text_printf(t, "<td class=\"n\" data-v=\"%s\">%s</td>", isfinite(x) && x < 1e12 ? number_real(room, x) : "0",
                shown);
}

void page_card(text *t, const char *name, const char *value, const char *note)
{
    text_printf(t, "<div class=\"card\"><span>%s</span><b>%s</b><span>%s</span></div>\n", name, value, note);
}

const char *page_percent(char room[NUMBER_ROOM], double x)
{
    if (!isfinite(x))
        return "?";
    snprintf(room, NUMBER_ROOM, "%.1f %%", x);
    return room;
}
