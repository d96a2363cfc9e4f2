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
        {"resnet", "ResNet, ResNeXt, Wide ResNet: /DEPTH, groups, width, image, classes", zoo_resnet, 0, ZOO_RESNET},
        {"vgg", "VGG: /DEPTH, norm (none, batch), classes", zoo_vgg, 0, ZOO_VGG},
        {"nasbench201", "NAS-Bench-201: /CELL, channels, cells, classes, image", zoo_nasbench201, 0, ZOO_NASBENCH201},
        {"fbnet", "FBNet for small images: /BLOCKS (22), classes, image", zoo_fbnet, 0, ZOO_FBNET},
        {"ofa", "Once-for-All MobileNetV3: kernels, expansions (20), depths (5), resolution, classes", zoo_ofa, 0,
         ZOO_OFA},
        {"bert", "BERT: layers, hidden, heads, ffn, vocab, positions, seq, head (none, classify, pretrain)", zoo_bert,
         0, ZOO_BERT},
        {"gpt2", "GPT-2 and GPT-3: layers, hidden, heads, ffn, vocab, positions, seq", zoo_gpt2, 0, ZOO_GPT2},
        {"opt", "OPT: layers, hidden, heads, ffn, vocab, positions, seq", zoo_opt, 0, ZOO_OPT},
        {"switch", "Switch Transformer: layers, decoder, hidden, heads, kv, ffn, experts, capacity, step, vocab, seq",
         zoo_switch, 0, ZOO_SWITCH},
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
