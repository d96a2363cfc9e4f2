/* regnet.c: RegNet X and Y, Radosavovic and others, "Designing Network Design Spaces", arXiv:2003.13678, as torchvision
 * writes them. Widths of the blocks follow a quantized linear rule. */
#include "models/vision.h"

#include <math.h>

enum { DEPTH, W0, WA, WM, GROUP, SE, IMAGE, CLASSES, MOST_DEPTH = 128 };
const zoo_parameter ZOO_REGNET[] = {
    [DEPTH] = {"depth", "16", 1, MOST_DEPTH, "blocks in all", false},
    [W0] = {"w0", "48", 8, 4096, "width of the first block", false},
    [WA] = {"wa", "27.89", 0, 1000000, "slope of the widths", true},
    [WM] = {"wm", "2.09", 1050, 16000, "quotient of the widths of two stages", true},
    [GROUP] = {"group", "8", 1, 4096, "width of a group", false},
    [SE] = {"se", "0", 0, 1000, "squeeze-and-excitation by the block's input; RegNet Y has 0.25", true},
    [IMAGE] = VISION_IMAGE("224", 32),
    [CLASSES] = VISION_CLASSES,
    {0},
};

static const vision_activation NONE = {0}, RELU = {"Relu", 0, 0};

/* Computes the widths of all blocks. Consecutive blocks of one width form a stage. */
static void widths_of(const zoo_arguments *a, int64_t *widths)
{
    double w0 = (double)a->numbers[W0], wa = zoo_decimal(a, WA), wm = zoo_decimal(a, WM);
    for (int64_t i = 0; i < a->numbers[DEPTH]; i++) {
        double capacity = rint(log(((double)i * wa + w0) / w0) / log(wm));
        widths[i] = (int64_t)rint(w0 * pow(wm, capacity) / 8) * 8;
    }
}

typedef struct block {
    int64_t in, out, stride, group;
    double squeeze;
} block;

static value_id run_block(builder *b, str scope, value_id x, const block *s)
{
    value_id shortcut = x;
    str f = net_join(b, scope, "f.");
    if (s->in != s->out || s->stride != 1)
        shortcut = vision_block(b, net_join(b, scope, "proj."), x,
                                (net_conv_shape){s->in, s->out, 1, s->stride, 0, 1, false}, NONE);
    x = vision_block(b, net_join(b, f, "a."), x, (net_conv_shape){s->in, s->out, 1, 1, 0, 1, false}, RELU);
    x = vision_block(b, net_join(b, f, "b."), x,
                     (net_conv_shape){s->out, s->out, 3, s->stride, 0, s->out / s->group, false}, RELU);
    int64_t squeezed = (int64_t)rint(s->squeeze * (double)s->in);
    if (squeezed)
        x = vision_squeeze_excite(b, net_join(b, f, "se."), x,
                                  (vision_squeeze){"fc1", "fc2", s->out, squeezed, RELU, "Sigmoid"});
    x = vision_block(b, net_join(b, f, "c."), x, (net_conv_shape){s->out, s->out, 1, 1, 0, 1, false}, NONE);
    x = net_binary(b, "Add", net_join(b, scope, "add"), shortcut, x);
    return net_unary(b, "Relu", net_join(b, scope, "activation"), x);
}

void zoo_regnet(builder *b, const zoo_arguments *a)
{
    enum { STEM = 32 };
    int64_t widths[MOST_DEPTH], depth = a->numbers[DEPTH], in = STEM, last = 0, index = 0, out = 0;
    if (a->numbers[W0] % 8)
        zoo_refuse(b, a, W0, "it must be a multiple of 8");
    widths_of(a, widths);
    if (widths[depth - 1] > 65536)
        zoo_refuse(b, a, WA, "the last blocks would have %lld channels, at most 65536 are possible",
                   (long long)widths[depth - 1]);
    block s = {.group = 1, .squeeze = zoo_decimal(a, SE)};
    value_id x = vision_begin(b, a->numbers[IMAGE]);
    x = vision_block(b, STR("stem."), x, (net_conv_shape){3, STEM, 3, 2, 0, 1, false}, RELU);
    int stages = 0;
    str stage = STR("");
    for (int64_t i = 0; i < depth; i++, index++) {
        bool is_first = widths[i] != last;
        if (is_first) { /* a group is no wider than the block, and the block's width is a multiple of it */
            last = widths[i];
            index = 0;
            stage = net_number(b, STR("trunk_output.block"), ++stages, ".block");
            stage = net_number(b, stage, stages, "-");
            s.group = a->numbers[GROUP] < last ? a->numbers[GROUP] : last;
            out = vision_round_channels((double)last, s.group);
        }
        s.in = in;
        s.out = out;
        s.stride = is_first ? 2 : 1;
        x = run_block(b, net_number(b, stage, index, "."), x, &s);
        in = out;
    }
    vision_classify(b, "fc", x, in, a->numbers[CLASSES]);
}
