/* zoo.h: well-known networks and search spaces, built directly as graphs. They need no file. They serve as examples, as
 * networks with published figures for tests, and as the networks of search spaces.
 *
 * A name has the form
 *
 *     NAME[/VALUE][?KEY=VALUE[&KEY=VALUE…]]
 *
 * where NAME is in the list, KEY is one of its parameters, and the value after the slash is that of the first
 * parameter: "nasbench201/CELL?classes=10" is "nasbench201?cell=CELL&classes=10". Commas separate list elements; one
 * element applies to all.
 *
 * Each network has the symbolic batch N and the layer names of its reference implementation. Weights have a type and
 * a shape, but no data. */
#ifndef SOOTH_MODELS_ZOO_H
#define SOOTH_MODELS_ZOO_H

#include "graph/build.h"

enum { ZOO_MAX_PARAMETERS = 16 };

/* A number if `most` is not 0; otherwise a text that the network's function parses. */
typedef struct zoo_parameter {
    const char *name;
    const char *otherwise; /* default */
    int64_t least, most;
    const char *summary; /* meaning, and the values of a text; for `sooth zoo` */
    bool is_decimal;     /* a decimal number such as "0.75"; bounds and value are in thousandths */
} zoo_parameter;

typedef struct zoo_arguments zoo_arguments;

/* A family of networks, or a single one if it has no parameters. */
typedef struct zoo_entry {
    const char *name;
    const char *summary;
    void (*build)(builder *b, const zoo_arguments *a);
    const zoo_parameter *parameters; /* ends with an unnamed entry; NULL: none */
} zoo_entry;

/* A network with its own name: a family with some parameters given. */
typedef struct zoo_network {
    const char *name;
    const char *definition; /* "resnet?depth=50"; the user may override its parameters */
    const char *summary;
} zoo_network;

/* Values of the parameters, in the entry's order. */
struct zoo_arguments {
    const zoo_entry *entry;
    const char *called; /* requested name: of a network or the family */
    str texts[ZOO_MAX_PARAMETERS];
    int64_t numbers[ZOO_MAX_PARAMETERS];
};

/* Return the lists; *count is the number of elements. */
const zoo_network *zoo_networks(size_t *count); /* networks.c */

/* Builds the network of that name (without "zoo:") after build_begin. False if there is none. Fails with
 * SOOTH_ERROR_USAGE on unknown parameters and invalid values. */
bool zoo_build(builder *b, str name);
/* Returns the name that was probably meant; empty if none is near. */
str zoo_nearest(str name);

/* ---- arguments (arguments.c) ------------------------------------------------------------------------------------- */

/* The part of a name before '/' and '?'. */
str zoo_base_name(str name);
/* Reads the parameters after the base name; missing ones come from `definition` (of a network; else NULL). */
void zoo_read_arguments(builder *b, const zoo_entry *entry, const char *definition, str name, zoo_arguments *a);
/* The value of a decimal parameter. */
double zoo_decimal(const zoo_arguments *a, int index);
/* The text of parameter `index` as `count` numbers from 1 to `most`; a single number applies to all. */
void zoo_counts(builder *b, const zoo_arguments *a, int index, int64_t most, int64_t *numbers, int count);
/* Splits the text of parameter `index` at commas into `count` pieces; a single piece applies to all. */
void zoo_pieces(builder *b, const zoo_arguments *a, int index, str *pieces, int count);
/* The same for numbers, each of which must be in `allowed` (ends with 0). */
void zoo_numbers(builder *b, const zoo_arguments *a, int index, const int64_t *allowed, int64_t *numbers, int count);
/* Index of the text of parameter `index` among the `choices` (NULL ends them). */
int zoo_choice(builder *b, const zoo_arguments *a, int index, const char *const *choices);
/* Fails with the reason why the value of parameter `index` is invalid. */
_Noreturn void zoo_refuse(builder *b, const zoo_arguments *a, int index, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* ---- the families ------------------------------------------------------------------------------------------------ */

void zoo_alexnet(builder *b, const zoo_arguments *a); /* plain.c */
void zoo_vgg(builder *b, const zoo_arguments *a);
void zoo_squeezenet(builder *b, const zoo_arguments *a);
extern const zoo_parameter ZOO_ALEXNET[], ZOO_VGG[], ZOO_SQUEEZENET[];

void zoo_resnet(builder *b, const zoo_arguments *a); /* resnet.c */
extern const zoo_parameter ZOO_RESNET[];

void zoo_googlenet(builder *b, const zoo_arguments *a); /* inception.c */
void zoo_inception_v3(builder *b, const zoo_arguments *a);
extern const zoo_parameter ZOO_GOOGLENET[], ZOO_INCEPTION_V3[];

void zoo_densenet(builder *b, const zoo_arguments *a); /* densenet.c */
extern const zoo_parameter ZOO_DENSENET[];

void zoo_mobilenet_v1(builder *b, const zoo_arguments *a); /* mobile.c */
void zoo_mobilenet_v2(builder *b, const zoo_arguments *a);
void zoo_mobilenet_v3(builder *b, const zoo_arguments *a);
void zoo_mnasnet(builder *b, const zoo_arguments *a);
extern const zoo_parameter ZOO_MOBILENET[], ZOO_MOBILENET_V3[]; /* ZOO_MOBILENET: V1, V2, MNASNet */

void zoo_shufflenet_v2(builder *b, const zoo_arguments *a); /* shufflenet.c */
extern const zoo_parameter ZOO_SHUFFLENET_V2[];

void zoo_efficientnet(builder *b, const zoo_arguments *a); /* efficientnet.c */
void zoo_efficientnet_v2(builder *b, const zoo_arguments *a);
extern const zoo_parameter ZOO_EFFICIENTNET[], ZOO_EFFICIENTNET_V2[];

void zoo_regnet(builder *b, const zoo_arguments *a); /* regnet.c */
extern const zoo_parameter ZOO_REGNET[];

void zoo_convnext(builder *b, const zoo_arguments *a); /* convnext.c */
extern const zoo_parameter ZOO_CONVNEXT[];

void zoo_vit(builder *b, const zoo_arguments *a); /* vit.c */
extern const zoo_parameter ZOO_VIT[];

void zoo_swin(builder *b, const zoo_arguments *a); /* swin.c */
extern const zoo_parameter ZOO_SWIN[];

void zoo_poolformer(builder *b, const zoo_arguments *a); /* metaformer.c */
void zoo_visformer(builder *b, const zoo_arguments *a);
extern const zoo_parameter ZOO_POOLFORMER[], ZOO_VISFORMER[];

void zoo_unet(builder *b, const zoo_arguments *a); /* dense_prediction.c */
void zoo_yolov5(builder *b, const zoo_arguments *a);
extern const zoo_parameter ZOO_UNET[], ZOO_YOLOV5[];

void zoo_bert_base(builder *b, const zoo_arguments *a); /* transformer.c */

void zoo_nasbench201(builder *b, const zoo_arguments *a);
void zoo_nasbench_macro(builder *b, const zoo_arguments *a); /* spaces.c */
void zoo_fbnet(builder *b, const zoo_arguments *a);
void zoo_ofa(builder *b, const zoo_arguments *a);
extern const zoo_parameter ZOO_NASBENCH201[], ZOO_NASBENCH_MACRO[], ZOO_FBNET[], ZOO_OFA[];

void zoo_bert(builder *b, const zoo_arguments *a); /* language.c */
void zoo_gpt2(builder *b, const zoo_arguments *a);
void zoo_opt(builder *b, const zoo_arguments *a);
extern const zoo_parameter ZOO_BERT[], ZOO_GPT2[], ZOO_OPT[];

void zoo_switch(builder *b, const zoo_arguments *a); /* switch.c */
extern const zoo_parameter ZOO_SWITCH[];

#endif
