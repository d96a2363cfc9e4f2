/* hf.h: shared by the files that build graphs from a Hugging Face Transformers configuration (config.json). */
#ifndef SOOTH_FRONT_HF_HF_H
#define SOOTH_FRONT_HF_HF_H

#include "base/json_read.h"
#include "models/lm.h"

/* Properties of a model_type that its configuration does not state. */
enum {
    HF_QKV_BIAS = 1 << 0,
    HF_O_BIAS = 1 << 1,
    HF_MLP_BIAS = 1 << 2,
    HF_PLAIN_MLP = 1 << 3,  /* two products, no gate */
    HF_PACKED_QKV = 1 << 4, /* one product for queries, keys and values */
    HF_PACKED_MLP = 1 << 5, /* one product for gate and up */
    HF_QK_HEAD = 1 << 6,    /* queries and keys are normalized per head */
    HF_QK_WIDTH = 1 << 7,   /* queries and keys are normalized over all heads at once */
    HF_POSITIONS = 1 << 8,  /* a position table; no rotary positions */
    HF_ALIBI = 1 << 9,
    HF_HEAD_BIAS = 1 << 10,
    HF_EMBED_NORM = 1 << 11,
    HF_NO_O_BIAS = 1 << 12, /* attention_bias does not apply to the output product */
    HF_SINKS = 1 << 13,
    HF_GATED_ATTENTION = 1 << 14,
    HF_GATED_SHARED = 1 << 15, /* the shared expert has a gate */
    HF_EXPERT_BIAS = 1 << 16,
    HF_POOLER = 1 << 17,
    HF_NO_ROTARY = 1 << 18,
    HF_ALL_EXPERTS = 1 << 19, /* layers are dense only if a list says so; without a list, all have experts */
};

typedef struct hf hf;

typedef struct hf_family {
    const char *type;
    void (*build)(hf *c);
    lm_order order;
    lm_norm norm;
    unsigned flags;
    double rotary_share; /* default for the share of a head that has rotary positions; 0: all */
} hf_family;

struct hf {
    builder *b;
    fail *fail;
    const json_node *root, *config; /* config: the inner language model's configuration, or the root */
    str type;                       /* model_type of the inner model */
    const hf_family *family;
    const char *defaults; /* "key value key value …" */
};

/* Family of a model_type, or NULL; its defaults, or "". (hf_families.c) */
const hf_family *hf_family_of(str type);
const char *hf_defaults_of(str type);

/* ---- reading (hf_config.c); `keys` are space-separated names; the first that exists counts --------------------- */

/* Fails with an impossible value at the first of the keys present, and a remedy. */
_Noreturn void hf_fail(const hf *c, const char *keys, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* Fails because a feature is not supported, with a remedy. */
_Noreturn void hf_unsupported(const hf *c, const char *what);
/* An integer from 0 to HF_MOST; null counts as absent and hides the default. */
enum { HF_MOST = 1 << 24 };
int64_t hf_int(const hf *c, const char *keys, int64_t otherwise);
/* Reads a size from 1 to `most`; fails if neither the configuration nor the defaults have it. */
int64_t hf_size(const hf *c, const char *keys, int64_t most);
bool hf_flag(const hf *c, const char *keys, bool otherwise);
double hf_real(const hf *c, const char *keys, double otherwise);
str hf_text(const hf *c, const char *keys);
bool hf_has(const hf *c, const char *key); /* true only if the configuration itself has the key */
const char *hf_activation(const hf *c);
const char *hf_activation_at(const hf *c, const char *keys);
/* Reads a list of sizes, each from 1 to `most`; returns their number. Fails if there is none, or more than `room`. */
int hf_sizes(const hf *c, const char *keys, int64_t *sizes, int room, int64_t most);
/* Another part of the configuration ("vision_config"), with its model_type, or `type` if it has none. */
hf hf_part(const hf *c, const json_node *config, const char *type);
/* True if the first architecture's name ends with this. */
bool hf_architecture(const hf *c, const char *ending);
/* Number of classes; 2 if the file does not name any labels. */
int64_t hf_class_count(const hf *c);

/* Reads the types of the checkpoint into the source (hf_types.c). */
void hf_read_types(hf *c);

void hf_default(const hf *c, const char *dimension, int64_t value);
/* Adds a note that all reports show. */
void hf_note(const hf *c, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* ---- builders ---------------------------------------------------------------------------------------------------- */

void hf_decoder(hf *c); /* hf_decoder.c */
void hf_encoder(hf *c); /* hf_encoder.c */
void hf_pair(hf *c);
void hf_deberta(hf *c); /* hf_deberta.c */
void hf_image(hf *c);   /* hf_image.c */
void hf_clip(hf *c);
void hf_whisper(hf *c);
void hf_resnet(hf *c); /* hf_convolution.c */
void hf_convnext(hf *c);
void hf_segformer(hf *c); /* hf_pyramid.c */
void hf_swin(hf *c);
void hf_mobilevit(hf *c);                                             /* hf_mobilevit.c */
void hf_wave(hf *c);                                                  /* hf_wave.c */
void hf_read_attention(const hf *c, int64_t hidden, lm_attention *a); /* hf_decoder.c */
lm_head hf_head(const hf *c);
void hf_layers(const hf *c, lm *m, int64_t count); /* makes `count` layers equal to the first */

#endif
