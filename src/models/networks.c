/* networks.c: networks with names of their own, each a family with parameters. Names are those of torchvision, or of the
 * paper where torchvision does not have the network. */
#include "models/zoo.h"

const zoo_network *zoo_networks(size_t *count)
{
    static const zoo_network NETWORKS[] = {
        {"alexnet", "alexnet", "AlexNet"},
        {"vgg11", "vgg?depth=11", "VGG-11"},
        {"vgg13", "vgg?depth=13", "VGG-13"},
        {"vgg16", "vgg?depth=16", "VGG-16"},
        {"vgg19", "vgg?depth=19", "VGG-19"},
        {"vgg11_bn", "vgg?depth=11&norm=batch", "VGG-11 with batch norm"},
        {"vgg13_bn", "vgg?depth=13&norm=batch", "VGG-13 with batch norm"},
        {"vgg16_bn", "vgg?depth=16&norm=batch", "VGG-16 with batch norm"},
        {"vgg19_bn", "vgg?depth=19&norm=batch", "VGG-19 with batch norm"},
        {"squeezenet1_0", "squeezenet?version=1.0", "SqueezeNet 1.0"},
        {"squeezenet1_1", "squeezenet?version=1.1", "SqueezeNet 1.1"},
        {"resnet18", "resnet?depth=18", "ResNet-18"},
        {"resnet34", "resnet?depth=34", "ResNet-34"},
        {"resnet50", "resnet?depth=50", "ResNet-50"},
        {"resnet101", "resnet?depth=101", "ResNet-101"},
        {"resnet152", "resnet?depth=152", "ResNet-152"},
        {"resnext50_32x4d", "resnet?depth=50&groups=32&width=4", "ResNeXt-50 32x4d"},
        {"resnext101_32x8d", "resnet?depth=101&groups=32&width=8", "ResNeXt-101 32x8d"},
        {"resnext101_64x4d", "resnet?depth=101&groups=64&width=4", "ResNeXt-101 64x4d"},
        {"wide_resnet50_2", "resnet?depth=50&width=128", "Wide ResNet-50-2"},
        {"wide_resnet101_2", "resnet?depth=101&width=128", "Wide ResNet-101-2"},
        {"mobilenet_v1", "mobilenet_v1", "MobileNetV1"},
        {"mobilenet_v2", "mobilenet_v2", "MobileNetV2"},
        {"mobilenet_v3_small", "mobilenet_v3?size=small", "MobileNetV3 small"},
        {"mobilenet_v3_large", "mobilenet_v3?size=large", "MobileNetV3 large"},
        {"mnasnet0_5", "mnasnet?width=0.5", "MNASNet 0.5"},
        {"mnasnet0_75", "mnasnet?width=0.75", "MNASNet 0.75"},
        {"mnasnet1_0", "mnasnet?width=1", "MNASNet 1.0"},
        {"mnasnet1_3", "mnasnet?width=1.3", "MNASNet 1.3"},
        {"shufflenet_v2_x0_5", "shufflenet_v2?width=0.5", "ShuffleNet V2 x0.5"},
        {"shufflenet_v2_x1_0", "shufflenet_v2?width=1.0", "ShuffleNet V2 x1.0"},
        {"shufflenet_v2_x1_5", "shufflenet_v2?width=1.5", "ShuffleNet V2 x1.5"},
        {"shufflenet_v2_x2_0", "shufflenet_v2?width=2.0", "ShuffleNet V2 x2.0"},
        {"vit_ti_16", "vit?patch=16&hidden=192&heads=3", "Vision Transformer Ti/16"},
        {"vit_s_16", "vit?patch=16&hidden=384&heads=6", "Vision Transformer S/16"},
        {"vit_s_32", "vit?patch=32&hidden=384&heads=6", "Vision Transformer S/32"},
        {"vit_b_16", "vit?patch=16", "Vision Transformer B/16"},
        {"vit_b_32", "vit?patch=32", "Vision Transformer B/32"},
        {"vit_l_16", "vit?patch=16&layers=24&hidden=1024&heads=16", "Vision Transformer L/16"},
        {"vit_l_32", "vit?patch=32&layers=24&hidden=1024&heads=16", "Vision Transformer L/32"},
        {"vit_h_14", "vit?patch=14&layers=32&hidden=1280&heads=16", "Vision Transformer H/14"},
        {"bert_base", "bert_base", "BERT base (uncased), 128 tokens, with pooler"},
    };
    *count = sizeof NETWORKS / sizeof *NETWORKS;
    return NETWORKS;
}
