/* images.h: measures the input pipeline. Writes JPEG files once; then reads them cold and warm, decodes, crops,
 * resizes and normalizes them, by one core and by several workers at once. */
#ifndef SOOTH_MEASURE_IMAGES_H
#define SOOTH_MEASURE_IMAGES_H

#include "base/arena.h"

/* Time per image in milliseconds, as quartiles over the images. */
typedef struct image_time {
    double low, median, high;
} image_time;

typedef struct image_times {
    int images, wide, high, side; /* pixels of a file, and of the network's input */
    int workers;
    double bytes; /* mean size of a file */
    image_time read_cold, read_warm, decode, augment;
    double loader_ms;       /* time per image with all workers together, files in memory */
    double one_worker_ms;   /* the same with one worker */
    double storage_bytes_s; /* rate of reading a large file, cold */
} image_times;

/* NULL if libjpeg-turbo can be used; otherwise the reason, and what to install. */
const char *images_missing(void);
/* Uses a directory of its own below `directory`, which it removes again. Fails if files cannot be written. */
image_times images_measure(const char *directory, int images, int side, int workers, fail *f);

#endif
