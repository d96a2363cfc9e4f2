/* write.h: writes a report in pieces, because the report of a large graph is as large as the graph. For the program. */
#ifndef SOOTH_REPORT_WRITE_H
#define SOOTH_REPORT_WRITE_H

#include "report/text.h"

sooth_status report_write(const sooth_model *model, const sooth_report_options *options, const text_sink *sink,
                          sooth_error *error);

#endif
