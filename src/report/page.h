/* page.h: shared by all HTML pages: a light and a dark style, sortable tables, cards, numbers in SVG. Pages are
 * self-contained and well-formed XML. */
#ifndef SOOTH_REPORT_PAGE_H
#define SOOTH_REPORT_PAGE_H

#include "report/text.h"

/* Between page_open() and page_begin_body() the caller writes the title, after the latter the heading (inside h1).
 * `more_style` is appended to the common style; it may be "". */
void page_open(text *t);
void page_begin_body(text *t, const char *more_style);
/* page_close() writes the script that sorts tables, and the end of the page. Pages with more script write it between
 * page_begin_script() and page_end_script(). */
void page_begin_script(text *t);
void page_end_script(text *t);
void page_close(text *t);

/* name="12.34", with a decimal point in any locale. */
void page_coordinate(text *t, const char *name, double x);
void page_cell(text *t, const char *s);
/* A number as people read it (`shown`), and the sort key `x`. */
void page_number_cell(text *t, double x, const char *shown);
void page_card(text *t, const char *name, const char *value, const char *note);
const char *page_percent(char room[NUMBER_ROOM], double x); /* "12.3 %"; "?" if it is not finite */

#endif
