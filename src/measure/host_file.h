/* host_file.h: writes a host's file, as in data/hosts, with the figures measured on this machine. */
#ifndef SOOTH_MEASURE_HOST_FILE_H
#define SOOTH_MEASURE_HOST_FILE_H

#include "measure/images.h"
#include "measure/machine.h"

/* Returns the text, in the arena. Links to a GPU cannot be measured without a GPU: they are copied from `like`, and
 * the file says so. */
str host_file_text(const machine *m, const image_times *images, double copy_bytes_s, const sooth_host *like, arena *a);
/* Bytes per second that one core copies within memory. */
double host_copy_rate(fail *f);

#endif
