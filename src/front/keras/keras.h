/* keras.h: shared by the parts of the Keras reader: files and models (keras.c), layers (keras_layers.c,
 * keras_norm.c, keras_recurrent.c, keras_ops.c, keras_compound.c), settings (keras_settings.c). */
#ifndef SOOTH_FRONT_KERAS_KERAS_H
#define SOOTH_FRONT_KERAS_KERAS_H

#include "base/json_read.h"
#include "front/common/emit.h"
#include "graph/infer.h"

typedef struct keras {
    emitter e;
    infer_progress done;
    int32_t calls; /* number of layer calls so far; calls of nested models count too */
    int depth;
    bool is_first_version; /* Keras 1 */
} keras;

enum { KERAS_MAX_INPUTS = 512, KERAS_MAX_RESULTS = 16 };

/* One call of a layer. */
typedef struct keras_call {
    keras *k;
    emitter *e;
    str class_name, path; /* path of the layer: its name after those of the models that contain it */
    const json_node *config;
    const json_node *arguments; /* other arguments of an operator's call: a list, or NULL */
    const json_node *keywords;  /* the same by name: an object, or NULL */
    const value_id *in;
    int in_count;
    value_id out;      /* its first result, created before the call */
    value_id *results; /* all results, KERAS_MAX_RESULTS entries; the first is `out` */
} keras_call;

/* keras.c: writes a model, Sequential or Functional, as one call. */
void keras_model(keras_call *c);
/* Reads the configuration of a whole model (also for tfjs). */
void keras_read_config(builder *b, const json_node *model, const char *format, str version);

/* keras_layers.c: writes the layer; an unknown class becomes an operator of that name. */
void keras_layer(keras_call *c);
bool keras_recurrent(keras_call *c); /* keras_recurrent.c: false if it is not recurrent */
bool keras_operator(keras_call *c);  /* keras_ops.c: joins, attention, keras.ops; false for other classes */
/* keras_compound.c: einsum, grouped attention, single elements; false for other classes */
bool keras_compound(keras_call *c);
void keras_foreign(keras_call *c);

/* keras_norm.c: rows of the table in keras_layers.c. */
void keras_batch_norm(keras_call *c, const char *canonical);
void keras_layer_norm(keras_call *c, const char *canonical);
void keras_rms_norm(keras_call *c, const char *canonical);
void keras_group_norm(keras_call *c, const char *canonical);
void keras_normalization(keras_call *c, const char *unused);
void keras_rescaling(keras_call *c, const char *unused);
void keras_layer_scale(keras_call *c, const char *unused);

/* ---- keras_settings.c: what layers ask ------------------------------------------------------------------------- */
int keras_shape(keras_call *c, value_id v, num *dims); /* returns the rank or RANK_UNKNOWN */
num keras_dim(keras_call *c, value_id v, int axis);    /* negative axes count from the end */
/* Returns a list or a text; NULL if there is none */
const json_node *keras_setting(const keras_call *c, const char *name, const char *old_name);
int64_t keras_int(const keras_call *c, const char *name, const char *old_name, int64_t otherwise);
bool keras_bool(const keras_call *c, const char *name, const char *old_name, bool otherwise);
double keras_real(const keras_call *c, const char *name, double otherwise);
str keras_text(const keras_call *c, const char *name, const char *old_name);
/* returns the length of a list, 1 for a single number, 0 for neither */
int keras_ints(const json_node *n, int64_t *to, int room);
/* Reads numbers for each axis: a list, a single number for all, or Keras 1's two separate settings. */
void keras_per_axis(const keras_call *c, const char *name, const char *old_name, int axes, int64_t otherwise,
                    int64_t *to);
bool keras_channels_first(const keras_call *c);
value_id keras_weight(keras_call *c, const char *name, int rank, const int64_t *dims);
/* Return the value that the layer writes before its activation, and write the activation. */
value_id keras_before(keras_call *c, const json_node *activation);
str keras_activation_name(const json_node *activation);
void keras_activate(keras_call *c, const json_node *activation, value_id x);
void keras_activation(keras_call *c, str name, const json_node *config, value_id x, value_id y);
str keras_joined(arena *a, str first, str second); /* joined by a slash */

#endif
