#include "graph/suggest.h"

/* Common sizes: one sample, an ImageNet-sized image, a clip of 16 frames, 512 tokens, a second of audio. */
enum { ONE = 1, COLOURS = 3, IMAGE = 224, CLIP = 112, FRAMES = 16, TOKENS = 512, SECOND = 16000, MOST_COLOURS = 4 };

typedef struct word {
    const char *part;
    int64_t size;
} word;

/* Parts of names, in the order in which they are tried; then whole names. */
static const word PARTS[] = {{"batch", ONE},   {"height", IMAGE},    {"width", IMAGE},   {"image", IMAGE},
                             {"pixel", IMAGE}, {"channel", COLOURS}, {"sample", SECOND}, {"audio", SECOND},
                             {"wave", SECOND}, {"past", TOKENS},     {"seq", TOKENS},    {"token", TOKENS},
                             {"len", TOKENS},  {"time", TOKENS},     {"frame", TOKENS},  {"text", TOKENS}};
static const word WHOLE[] = {{"n", ONE},     {"b", ONE},    {"bs", ONE},   {"h", IMAGE}, {"w", IMAGE},
                             {"c", COLOURS}, {"s", TOKENS}, {"t", TOKENS}, {"l", TOKENS}};

/* Suggestion from the name alone; 0: none. */
static int64_t by_name(str name)
{
    char lower[64];
    size_t n = 0;
    for (; n < name.len && n + 1 < sizeof lower; n++)
        lower[n] = (char)(name.ptr[n] >= 'A' && name.ptr[n] <= 'Z' ? name.ptr[n] - 'A' + 'a' : name.ptr[n]);
    lower[n] = '\0';
    for (size_t i = 0; i < sizeof WHOLE / sizeof *WHOLE; i++)
        if (strcmp(lower, WHOLE[i].part) == 0)
            return WHOLE[i].size;
    for (size_t i = 0; i < sizeof PARTS / sizeof *PARTS; i++)
        if (strstr(lower, PARTS[i].part))
            return PARTS[i].size;
    return 0;
}

/* True if this may be the channel count of an image. */
static bool is_colours(const value *v, int axis)
{
    return axis < v->rank && dim_known(v->dims[axis]) && v->dims[axis] > 0 && v->dims[axis] <= MOST_COLOURS;
}

/* Suggests a size for an image or a clip with a leading batch. */
static int64_t of_image(const value *v, int axis, bool is_channels_last)
{
    bool last = is_colours(v, v->rank - 1) || (is_channels_last && !is_colours(v, 1));
    if (axis == 0)
        return ONE;
    if (axis == (last ? v->rank - 1 : 1))
        return COLOURS;
    if (v->rank == 5)
        return axis == (last ? 1 : 2) ? FRAMES : CLIP;
    return IMAGE;
}

int64_t suggest_dim(const value *input, int axis, str name, bool is_channels_last)
{
    int64_t named = by_name(name);
    if (named)
        return named;
    if (input->rank == 4 || input->rank == 5)
        return of_image(input, axis, is_channels_last);
    /* One image without a batch, as in CoreML and detectors. A leading 1 would be the batch. */
    bool is_image = input->rank == 3 && dtype_is_float(input->dtype);
    if (is_image && (is_colours(input, 2) || (is_colours(input, 0) && input->dims[0] == COLOURS)))
        return IMAGE;
    return axis == 0 ? ONE : TOKENS;
}

const char *suggest_shape(const value *input, bool is_channels_last)
{
    if (dtype_is_integer(input->dtype) && input->dtype != DT_UINT8)
        return "1,512";
    return is_channels_last ? "1,224,224,3" : "1,3,224,224";
}
