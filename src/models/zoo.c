#include "models/zoo.h"

#include "base/nearest.h"

static const zoo_entry *zoo_families(size_t *count)
{
    static const zoo_entry FAMILIES[] = {
        {"alexnet", "AlexNet", zoo_alexnet, ZOO_ALEXNET},
        {"vgg", "VGG", zoo_vgg, ZOO_VGG},
        {"squeezenet", "SqueezeNet", zoo_squeezenet, ZOO_SQUEEZENET},
        {"resnet", "ResNet, ResNeXt, Wide ResNet", zoo_resnet, ZOO_RESNET},
        {"googlenet", "GoogLeNet", zoo_googlenet, ZOO_GOOGLENET},
        {"inception_v3", "Inception v3", zoo_inception_v3, ZOO_INCEPTION_V3},
        {"densenet", "DenseNet", zoo_densenet, ZOO_DENSENET},
        {"mobilenet_v1", "MobileNetV1", zoo_mobilenet_v1, ZOO_MOBILENET},
        {"mobilenet_v2", "MobileNetV2", zoo_mobilenet_v2, ZOO_MOBILENET},
        {"mobilenet_v3", "MobileNetV3", zoo_mobilenet_v3, ZOO_MOBILENET_V3},
        {"mnasnet", "MNASNet", zoo_mnasnet, ZOO_MOBILENET},
        {"shufflenet_v2", "ShuffleNet V2", zoo_shufflenet_v2, ZOO_SHUFFLENET_V2},
        {"efficientnet", "EfficientNet", zoo_efficientnet, ZOO_EFFICIENTNET},
        {"efficientnet_v2", "EfficientNetV2", zoo_efficientnet_v2, ZOO_EFFICIENTNET_V2},
        {"regnet", "RegNet X and Y", zoo_regnet, ZOO_REGNET},
        {"convnext", "ConvNeXt", zoo_convnext, ZOO_CONVNEXT},
        {"vit", "Vision Transformer", zoo_vit, ZOO_VIT},
        {"swin", "Swin Transformer", zoo_swin, ZOO_SWIN},
        {"visformer", "Visformer", zoo_visformer, ZOO_VISFORMER},
        {"poolformer", "PoolFormer", zoo_poolformer, ZOO_POOLFORMER},
        {"unet", "U-Net", zoo_unet, ZOO_UNET},
        {"yolov5", "YOLOv5", zoo_yolov5, ZOO_YOLOV5},
        {"bert_base", "BERT base (uncased), 128 tokens, with pooler", zoo_bert_base, NULL},
        {"bert", "BERT, as Transformers runs it", zoo_bert, ZOO_BERT},
        {"gpt2", "GPT-2 and GPT-3, as Transformers runs them", zoo_gpt2, ZOO_GPT2},
        {"opt", "OPT, as Transformers runs it", zoo_opt, ZOO_OPT},
        {"switch", "Switch Transformer", zoo_switch, ZOO_SWITCH},
        {"nasbench201", "networks of NAS-Bench-201", zoo_nasbench201, ZOO_NASBENCH201},
        {"nasbench_macro", "networks of NAS-Bench-Macro", zoo_nasbench_macro, ZOO_NASBENCH_MACRO},
        {"fbnet", "FBNet for small images, as HW-NAS-Bench builds it", zoo_fbnet, ZOO_FBNET},
        {"ofa", "sub-networks of Once-for-All MobileNetV3", zoo_ofa, ZOO_OFA},
    };
    *count = sizeof FAMILIES / sizeof *FAMILIES;
    return FAMILIES;
}

/* Returns the family of that name; NULL if there is none. */
static const zoo_entry *find_family(str base)
{
    size_t count;
    const zoo_entry *families = zoo_families(&count);
    for (size_t i = 0; i < count; i++)
        if (str_is(base, families[i].name))
            return &families[i];
    return NULL;
}

static const zoo_network *find_network(str base)
{
    size_t count;
    const zoo_network *networks = zoo_networks(&count);
    for (size_t i = 0; i < count; i++)
        if (str_is(base, networks[i].name))
            return &networks[i];
    return NULL;
}

bool zoo_build(builder *b, str name)
{
    str base = zoo_base_name(name);
    const zoo_entry *family = find_family(base);
    const char *definition = NULL;
    if (!family) {
        const zoo_network *network = find_network(base);
        if (!network)
            return false;
        definition = network->definition;
        family = find_family(zoo_base_name(str_of(definition)));
    }
    zoo_arguments arguments;
    zoo_read_arguments(b, family, definition, name, &arguments);
    b->source->format = STR("zoo");
    b->source->producer = STR("Sooth " SOOTH_VERSION);
    b->source->main.name = arena_str(b->arena, name);
    family->build(b, &arguments);
    return true;
}

str zoo_nearest(str name)
{
    nearest near = nearest_to(zoo_base_name(name));
    const char *known;
    for (size_t i = 0; (known = sooth_zoo_name(i)); i++)
        nearest_try(&near, str_of(known));
    return near.best;
}

/* ---- the public list: networks, then families -------------------------------------------------------------------- */

/* Returns the network or family at an index and sets the other to NULL; both are NULL after the last. A family named
 * like one of its networks is listed once, as the network. */
static void find_at(size_t index, const zoo_network **network, const zoo_entry **family)
{
    size_t network_count, family_count;
    const zoo_network *networks = zoo_networks(&network_count);
    const zoo_entry *families = zoo_families(&family_count);
    *network = index < network_count ? &networks[index] : NULL;
    *family = NULL;
    for (size_t i = 0, at = network_count; i < family_count && at <= index; i++)
        if (!find_network(str_of(families[i].name)) && at++ == index)
            *family = &families[i];
}

const char *sooth_zoo_name(size_t index)
{
    const zoo_network *network;
    const zoo_entry *family;
    find_at(index, &network, &family);
    return network ? network->name : family ? family->name : NULL;
}

const char *sooth_zoo_summary(size_t index)
{
    const zoo_network *network;
    const zoo_entry *family;
    find_at(index, &network, &family);
    return network ? network->summary : family ? family->summary : NULL;
}

const char *sooth_zoo_definition(size_t index)
{
    const zoo_network *network;
    const zoo_entry *family;
    find_at(index, &network, &family);
    return network ? network->definition : NULL;
}

sooth_zoo_parameter sooth_zoo_parameter_at(size_t network, size_t index)
{
    const zoo_network *named;
    const zoo_entry *family;
    find_at(network, &named, &family);
    if (named) /* A network lists parameters only if it is its family with all defaults. */
        family = find_family(str_of(named->definition));
    size_t known = 0;
    while (family && family->parameters && family->parameters[known].name)
        known++;
    if (index >= known)
        return (sooth_zoo_parameter){0};
    const zoo_parameter *p = &family->parameters[index];
    double unit = p->is_decimal ? 1000 : 1;
    return (sooth_zoo_parameter){p->name, p->otherwise, p->summary, (double)p->least / unit, (double)p->most / unit};
}
