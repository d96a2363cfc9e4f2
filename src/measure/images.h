/* images.h: the input pipeline for real: JPEG files are written once, then read cold and warm, decoded, cropped,
 * resized and normalized, by one core and by several workers at once. */
#ifndef SOOTH_MEASURE_IMAGES_H
#define SOOTH_MEASURE_IMAGES_H

#include "base/arena.h"

/* A time per image in milliseconds: quartiles over the images. */
typedef struct image_time {
    double low, median, high;
} image_time;

typedef struct image_times {
    int images, wide, high, side; /* pixels of a file, and of what the network gets */
    int workers;
    double bytes; /* of a file, mean */
    image_time read_cold, read_warm, decode, augment;
    double loader_ms;       /* per image by all workers together, files in memory */
    double one_worker_ms;   /* the same by one */
    double storage_bytes_s; /* of a large file, cold */
} image_times;

/* NULL if libjpeg-turbo can be used; else why not, and what to install. */
const char *images_missing(void);
/* The files go to a directory of their own below `directory` and are removed again. Fails if files cannot be written. */
image_times images_measure(const char *directory, int images, int side, int workers, fail *f);

#endif
