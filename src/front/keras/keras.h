/* keras.h: what the parts of the Keras reader share: files and models (keras.c), layers (keras_layers.c, keras_recurrent.c,
 * keras_ops.c), what layers ask (keras_settings.c). */
#ifndef SOOTH_FRONT_KERAS_KERAS_H
#define SOOTH_FRONT_KERAS_KERAS_H

#include "base/json_read.h"
#include "front/common/emit.h"
#include "graph/infer.h"

typedef struct keras {
    emitter e;
    infer_progress done;
    int32_t calls; /* of layers, all that nested models add up to */
    int depth;
    bool is_first_version; /* Keras 1 */
} keras;

enum { KERAS_MAX_INPUTS = 512, KERAS_MAX_RESULTS = 16 };

/* One call of a layer. */
typedef struct keras_call {
    keras *k;
    emitter *e;
    str class_name, path; /* of the layer: its name behind those of the models around it */
    const json_node *config;
    const json_node *arguments; /* of operators: what stands beside the tensors; a list, or NULL */
    const json_node *keywords;  /* an object, or NULL */
    const value_id *in;
    int in_count;
    value_id out;      /* its first result, made before the call */
    value_id *results; /* all of them: KERAS_MAX_RESULTS; [0] is out */
} keras_call;

/* keras.c: a model, Sequential or Functional, as one call. */
void keras_model(keras_call *c);
/* Reads the configuration of a whole model (also tfjs). */
void keras_read_config(builder *b, const json_node *model, const char *format, str version);

/* keras_layers.c: writes the layer; what is not known becomes an operator of that name. */
void keras_layer(keras_call *c);
bool keras_recurrent(keras_call *c); /* keras_recurrent.c: false if it is none */
bool keras_operator(keras_call *c);  /* keras_ops.c: joins, attention, keras.ops; false if it is none */
bool keras_compound(
    keras_call *c); /* keras_compound.c: sums over labels, grouped attention, single elements; false if it is none */
void keras_foreign(keras_call *c);

/* ---- keras_settings.c: what layers ask ------------------------------------------------------------------------- */
int keras_shape(keras_call *c, value_id v, num *dims); /* rank or RANK_UNKNOWN */
num keras_dim(keras_call *c, value_id v, int axis);    /* from the end if negative */
const json_node *keras_setting(const keras_call *c, const char *name, const char *old_name); /* or NULL */
int64_t keras_int(const keras_call *c, const char *name, const char *old_name, int64_t otherwise);
bool keras_bool(const keras_call *c, const char *name, const char *old_name, bool otherwise);
double keras_real(const keras_call *c, const char *name, double otherwise);
str keras_text(const keras_call *c, const char *name, const char *old_name);
int keras_ints(const json_node *n, int64_t *to, int room); /* of a list, or a single number; 0 if there are none */
/* Numbers for each axis: a list, a single number for all, or what Keras 1 calls by two names. */
void keras_per_axis(const keras_call *c, const char *name, const char *old_name, int axes, int64_t otherwise,
                    int64_t *to);
bool keras_channels_first(const keras_call *c);
value_id keras_weight(keras_call *c, const char *name, int rank, const int64_t *dims);
/* Where the layer writes to if an activation follows; then the activation. */
value_id keras_before(keras_call *c, const json_node *activation);
str keras_activation_name(const json_node *activation);
void keras_activate(keras_call *c, const json_node *activation, value_id x);
void keras_activation(keras_call *c, str name, const json_node *config, value_id x, value_id y);
str keras_joined(arena *a, str first, str second); /* with a slash between */

#endif
