/* hf.h: between the files that build graphs from a configuration of Hugging Face's Transformers (config.json). */
#ifndef SOOTH_FRONT_HF_HF_H
#define SOOTH_FRONT_HF_HF_H

#include "base/json_read.h"
#include "models/lm.h"

/* What a model_type is beside what its configuration says. */
enum {
    HF_QKV_BIAS = 1 << 0,
    HF_O_BIAS = 1 << 1,
    HF_MLP_BIAS = 1 << 2,
    HF_PLAIN_MLP = 1 << 3,  /* two products, no gate */
    HF_PACKED_QKV = 1 << 4, /* one product for queries, keys and values */
    HF_PACKED_MLP = 1 << 5, /* one product for gate and up */
    HF_QK_HEAD = 1 << 6,    /* queries and keys are normed, each head by itself */
    HF_QK_WIDTH = 1 << 7,   /* … all heads at once */
    HF_POSITIONS = 1 << 8,  /* a table of positions; nothing is turned */
    HF_ALIBI = 1 << 9,
    HF_HEAD_BIAS = 1 << 10,
    HF_EMBED_NORM = 1 << 11,
    HF_NO_O_BIAS = 1 << 12, /* attention_bias does not mean the output's */
    HF_SINKS = 1 << 13,
    HF_GATED_ATTENTION = 1 << 14,
    HF_GATED_SHARED = 1 << 15, /* the shared expert has a gate */
    HF_EXPERT_BIAS = 1 << 16,
    HF_POOLER = 1 << 17,
    HF_NO_ROTARY = 1 << 18,
    HF_ALL_EXPERTS = 1 << 19, /* dense layers are told by lists alone: no key means all have experts */
};

typedef struct hf hf;

typedef struct hf_family {
    const char *type;
    void (*build)(hf *c);
    lm_order order;
    lm_norm norm;
    unsigned flags;
    double rotary_share; /* of a head, where the configuration does not say; 0: all of it */
} hf_family;

struct hf {
    builder *b;
    fail *fail;
    const json_node *root, *config; /* config: of the language model inside, or the root */
    str type;                       /* model_type of `config` */
    const hf_family *family;
    const char *defaults; /* "key value key value …" */
};

/* The family of a model_type, or NULL; its defaults, or "". (hf_families.c) */
const hf_family *hf_family_of(str type);
const char *hf_defaults_of(str type);

/* ---- reading (hf_config.c); `keys` are names with spaces between them, of which the first that is there counts ------------- */

/* What cannot be, at the first of the keys that the configuration has; what to do is added. */
_Noreturn void hf_fail(const hf *c, const char *keys, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* What is not built; what to do is added. */
_Noreturn void hf_unsupported(const hf *c, const char *what);
/* A whole number from 0 to HF_MOST; null counts as absent, and hides the default. */
enum { HF_MOST = 1 << 24 };
int64_t hf_int(const hf *c, const char *keys, int64_t otherwise);
/* From 1 on, and no more than `most`; fails where nobody says. */
int64_t hf_size(const hf *c, const char *keys, int64_t most);
bool hf_flag(const hf *c, const char *keys, bool otherwise);
double hf_real(const hf *c, const char *keys, double otherwise);
str hf_text(const hf *c, const char *keys);
bool hf_has(const hf *c, const char *key); /* in the configuration itself */
const char *hf_activation(const hf *c);
const char *hf_activation_at(const hf *c, const char *keys);
/* The number of sizes in a list, each from 1 to `most`; fails where nobody says, and where there are more than `room`.
 */
int hf_sizes(const hf *c, const char *keys, int64_t *sizes, int room, int64_t most);
/* The same with another part of the configuration ("vision_config"); its model_type, or `type` where it has none. */
hf hf_part(const hf *c, const json_node *config, const char *type);
/* Does the name of the first architecture end so? */
bool hf_architecture(const hf *c, const char *ending);
/* Labels of a classifier: 2 where the file names none. */
int64_t hf_class_count(const hf *c);
void hf_default(const hf *c, const char *dimension, int64_t value);
/* A note that all reports show. */
void hf_note(const hf *c, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* ---- builders ------------------------------------------------------------------------------------------------------- */

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
void hf_layers(const hf *c, lm *m, int64_t count); /* all like the first */

#endif
