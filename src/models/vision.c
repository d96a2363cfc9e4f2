#include "models/vision.h"

value_id vision_begin(builder *b, int64_t image)
{
    net_begin(b);
    return net_input(b, "input", DT_FLOAT32, 4, (num[]){net_batch(b), 3, image, image});
}

void vision_end(builder *b, value_id x, int64_t classes)
{
    net_output(b, x, DT_FLOAT32, 2, (num[]){net_batch(b), classes});
    net_end(b);
}

value_id vision_mean(builder *b, value_id x)
{
    x = net_unary(b, "GlobalAveragePool", STR("avgpool"), x);
    return net_unary(b, "Flatten", STR("flatten"), x);
}

value_id vision_flat_mean(builder *b, value_id x)
{
    node *n;
    value_id axes = net_ints(b, "mean.axes", 1, (int64_t[]){2, 3}, 2);
    x = net_node(b, "ReduceMean", STR("mean"), (value_id[]){x, axes}, 2, 1, &n);
    build_attr_int(b, n, 0, "keepdims", 0);
    return x;
}

void vision_classify(builder *b, const char *name, value_id x, int64_t channels, int64_t classes)
{
    vision_end(b, net_gemm(b, str_of(name), vision_mean(b, x), channels, classes), classes);
}

vision_activation vision_relu6(builder *b)
{
    return (vision_activation){"Clip", net_real(b, "relu6.min", 0), net_real(b, "relu6.max", 6)};
}

value_id vision_activate(builder *b, vision_activation a, str name, value_id x)
{
    if (!a.op)
        return x;
    node *n;
    bool is_clip = a.low != a.high;
    return net_node(b, a.op, name, (value_id[]){x, a.low, a.high}, is_clip ? 3 : 1, 0, &n);
}

value_id vision_conv_norm(builder *b, str scope, const char *conv, const char *norm, value_id x, net_conv_shape s)
{
    s.groups = s.groups ? s.groups : 1;
    x = net_conv(b, net_join(b, scope, conv), x, s);
    return net_batch_norm(b, net_join(b, scope, norm), x, s.out);
}

value_id vision_block(builder *b, str scope, value_id x, net_conv_shape s, vision_activation a)
{
    s.pad = s.kernel / 2;
    x = vision_conv_norm(b, scope, "0", "1", x, s);
    return vision_activate(b, a, net_join(b, scope, "2"), x);
}

value_id vision_squeeze_excite(builder *b, str scope, value_id x, vision_squeeze s)
{
    value_id y = net_unary(b, "GlobalAveragePool", net_join(b, scope, "avgpool"), x);
    y = net_conv(b, net_join(b, scope, s.reduce), y, (net_conv_shape){s.channels, s.squeezed, 1, 1, 0, 1, true});
    y = vision_activate(b, s.activation, net_join(b, scope, "activation"), y);
    y = net_conv(b, net_join(b, scope, s.expand), y, (net_conv_shape){s.squeezed, s.channels, 1, 1, 0, 1, true});
    node *n;
    bool is_hard = strcmp(s.gate, "HardSigmoid") == 0;
    y = net_node(b, s.gate, net_join(b, scope, "scale_activation"), &y, 1, is_hard, &n);
    if (is_hard)
        build_attr_real(b, n, 0, "alpha", 1.0 / 6);
    return net_binary(b, "Mul", net_join(b, scope, "mul"), y, x);
}

int64_t vision_round_channels(double channels, int64_t divisor)
{
    int64_t rounded = (int64_t)(channels + (double)divisor / 2) / divisor * divisor;
    if (rounded < divisor)
        rounded = divisor;
    return (double)rounded < 0.9 * channels ? rounded + divisor : rounded;
}
