/* vision.h: shared by the zoo's image networks: input and classifier, convolution with batch norm and activation,
 * squeeze-and-excitation. Layers have the names of torchvision's or timm's modules. */
#ifndef SOOTH_MODELS_VISION_H
#define SOOTH_MODELS_VISION_H

#include "models/net.h"

/* Parameters that every classifier has. The bound on the image keeps maps larger than their windows. */
#define VISION_IMAGE(size, least)                                                                                      \
    {                                                                                                                  \
        "image", size, least, 8192, "height and width of the image", false                                             \
    }
#define VISION_CLASSES                                                                                                 \
    {                                                                                                                  \
        "classes", "1000", 1, 1000000, "classes of the output", false                                                  \
    }

value_id vision_begin(builder *b, int64_t image);
void vision_end(builder *b, value_id x, int64_t classes); /* x is (N, classes) */
/* Mean over the image, flattened: (N, channels). */
value_id vision_mean(builder *b, value_id x);
/* The same as x.mean([2, 3]), which gives (N, channels) directly. */
value_id vision_flat_mean(builder *b, value_id x);
/* vision_mean, one linear layer, vision_end. */
void vision_classify(builder *b, const char *name, value_id x, int64_t channels, int64_t classes);

/* A pointwise function; the operator is NULL for none. */
typedef struct vision_activation {
    const char *op;
    value_id low, high; /* bounds of Clip */
} vision_activation;
vision_activation vision_relu6(builder *b);
value_id vision_activate(builder *b, vision_activation a, str name, value_id x);

/* Convolution and batch norm, named SCOPE + conv and SCOPE + norm; 0 as s.groups means one group. */
value_id vision_conv_norm(builder *b, str scope, const char *conv, const char *norm, value_id x, net_conv_shape s);
/* torchvision's Conv2dNormActivation, named SCOPE.0, SCOPE.1, SCOPE.2 (`scope` ends with a dot). Padding keeps the
 * size at stride 1. */
value_id vision_block(builder *b, str scope, value_id x, net_conv_shape s, vision_activation a);

/* Squeeze-and-excitation: the mean of each channel passes through two 1 x 1 convolutions and scales the channel. */
typedef struct vision_squeeze {
    const char *reduce, *expand; /* names of the convolutions */
    int64_t channels, squeezed;
    vision_activation activation;
    const char *gate; /* Sigmoid, HardSigmoid */
} vision_squeeze;
value_id vision_squeeze_excite(builder *b, str scope, value_id x, vision_squeeze s);

/* Multiplies the channels and rounds to a multiple of the divisor, but never reduces them by more than 10 %. */
int64_t vision_round_channels(double channels, int64_t divisor);

#endif
