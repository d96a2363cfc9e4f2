/* hlo_map.h: mappings in the table of hlo_ops.c that are implemented in other files. */
#ifndef SOOTH_FRONT_HLO_HLO_MAP_H
#define SOOTH_FRONT_HLO_HLO_MAP_H

#include "front/hlo/hlo.h"

typedef void hlo_mapper(hlo_writer *w, const hlo_op *o, const char *canonical);

/* hlo_pointwise.c */
hlo_mapper hlo_map_pointwise;
hlo_mapper hlo_map_abs;
hlo_mapper hlo_map_add;
hlo_mapper hlo_map_quotient;
hlo_mapper hlo_map_logical;
hlo_mapper hlo_map_max_min;
hlo_mapper hlo_map_remainder;
hlo_mapper hlo_map_shift;
hlo_mapper hlo_map_square;
hlo_mapper hlo_map_rsqrt;
hlo_mapper hlo_map_cbrt;
hlo_mapper hlo_map_expm1;
hlo_mapper hlo_map_log1p;
hlo_mapper hlo_map_special;
hlo_mapper hlo_map_erfc;
hlo_mapper hlo_map_compare;
hlo_mapper hlo_map_select;
hlo_mapper hlo_map_clamp;
hlo_mapper hlo_map_convert;
/* Writes a pointwise operator; the caller adds attributes. */
node *hlo_write_pointwise(hlo_writer *w, const hlo_op *o, const char *op);

/* hlo_shapes.c */
hlo_mapper hlo_map_reshape;
hlo_mapper hlo_map_transpose;
hlo_mapper hlo_map_broadcast;
hlo_mapper hlo_map_iota;
hlo_mapper hlo_map_dimension_size;
hlo_mapper hlo_map_same; /* hlo_ops.c */

#endif
