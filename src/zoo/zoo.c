#include "zoo/zoo.h"

#include "base/nearest.h"

const zoo_entry *zoo_list(size_t *count)
{
    static const zoo_entry entries[] = {
        {"resnet18", "ResNet-18, images of 224 x 224, 1000 classes", zoo_resnet, 18},
        {"resnet50", "ResNet-50, images of 224 x 224, 1000 classes", zoo_resnet, 50},
        {"mobilenet_v2", "MobileNetV2, images of 224 x 224, 1000 classes", zoo_mobilenet_v2, 0},
        {"vgg16", "VGG-16, images of 224 x 224, 1000 classes", zoo_vgg, 16},
        {"vit_b_16", "Vision Transformer B/16, images of 224 x 224, 1000 classes", zoo_vit, 16},
        {"bert_base", "BERT base (uncased), 128 tokens, with pooler", zoo_bert, 128},
    };
    *count = sizeof entries / sizeof *entries;
    return entries;
}

bool zoo_build(builder *b, str name)
{
    size_t count;
    const zoo_entry *entries = zoo_list(&count);
    for (size_t i = 0; i < count; i++) {
        if (!str_is(name, entries[i].name))
            continue;
        b->source->format = STR("zoo");
        b->source->producer = STR("Sooth " SOOTH_VERSION);
        b->source->main.name = str_of(entries[i].name);
        entries[i].build(b, &entries[i]);
        return true;
    }
    return false;
}

str zoo_nearest(str name)
{
    size_t count;
    const zoo_entry *entries = zoo_list(&count);
    nearest near = nearest_to(name);
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
