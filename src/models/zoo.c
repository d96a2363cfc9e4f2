#include "models/zoo.h"

#include "base/nearest.h"

const zoo_entry *zoo_list(size_t *count)
{
    static const zoo_entry entries[] = {
        {"resnet18", "ResNet-18, images of 224 x 224, 1000 classes", zoo_resnet, 18, NULL},
        {"resnet50", "ResNet-50, images of 224 x 224, 1000 classes", zoo_resnet, 50, NULL},
        {"mobilenet_v2", "MobileNetV2, images of 224 x 224, 1000 classes", zoo_mobilenet_v2, 0, NULL},
        {"vgg16", "VGG-16, images of 224 x 224, 1000 classes", zoo_vgg, 16, NULL},
        {"vit_b_16", "Vision Transformer B/16, images of 224 x 224, 1000 classes", zoo_vit, 16, NULL},
        {"bert_base", "BERT base (uncased), 128 tokens, with pooler", zoo_bert_base, 128, NULL},
        {"resnet", "ResNet, ResNeXt, Wide ResNet", zoo_resnet, 0, ZOO_RESNET},
        {"vgg", "VGG", zoo_vgg, 0, ZOO_VGG},
        {"nasbench201", "networks of NAS-Bench-201", zoo_nasbench201, 0, ZOO_NASBENCH201},
        {"fbnet", "FBNet for small images, as HW-NAS-Bench builds it", zoo_fbnet, 0, ZOO_FBNET},
        {"ofa", "sub-networks of Once-for-All MobileNetV3", zoo_ofa, 0, ZOO_OFA},
        {"bert", "BERT, as Transformers runs it", zoo_bert, 0, ZOO_BERT},
        {"gpt2", "GPT-2 and GPT-3, as Transformers runs them", zoo_gpt2, 0, ZOO_GPT2},
        {"opt", "OPT, as Transformers runs it", zoo_opt, 0, ZOO_OPT},
        {"switch", "Switch Transformer", zoo_switch, 0, ZOO_SWITCH},
    };
    *count = sizeof entries / sizeof *entries;
    return entries;
}

bool zoo_build(builder *b, str name)
{
    size_t count;
    const zoo_entry *entries = zoo_list(&count);
    str base = zoo_base_name(name);
    size_t i = 0;
    while (i < count && !str_is(base, entries[i].name))
        i++;
    if (i == count)
        return false;
    zoo_arguments arguments;
    zoo_read_arguments(b, &entries[i], name, &arguments);
    b->source->format = STR("zoo");
    b->source->producer = STR("Sooth " SOOTH_VERSION);
    b->source->main.name = arena_str(b->arena, name);
    entries[i].build(b, &arguments);
    return true;
}

str zoo_nearest(str name)
{
    size_t count;
    const zoo_entry *entries = zoo_list(&count);
    nearest near = nearest_to(zoo_base_name(name));
    for (size_t i = 0; i < count; i++)
        nearest_try(&near, str_of(entries[i].name));
    return near.best;
}

const char *sooth_zoo_name(size_t index)
{
    size_t count;
    const zoo_entry *entries = zoo_list(&count);
    return index < count ? entries[index].name : NULL;
}

const char *sooth_zoo_summary(size_t index)
{
    size_t count;
    const zoo_entry *entries = zoo_list(&count);
    return index < count ? entries[index].summary : NULL;
}

sooth_zoo_parameter sooth_zoo_parameter_at(size_t network, size_t index)
{
    size_t count, known = 0;
    const zoo_entry *entries = zoo_list(&count);
    const zoo_parameter *all = network < count ? entries[network].parameters : NULL;
    while (all && all[known].name)
        known++;
    if (index >= known)
        return (sooth_zoo_parameter){0};
    const zoo_parameter *p = &all[index];
    return (sooth_zoo_parameter){p->name, p->otherwise, p->summary, p->least, p->most};
}
