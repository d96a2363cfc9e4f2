/* rows_names.c: derives architecture and family from a network's name, by the conventions of timm and torchvision.
 * Networks that differ only in weights or image size must be on one side of a split. Merging too many networks does
 * less harm than separating related ones. */
#include "learn/rows.h"

static bool is_one_of(str s, const char *const *names)
{
    for (; *names; names++)
        if (str_is(s, *names))
            return true;
    return false;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool all_digits(str s)
{
    for (size_t i = 0; i < s.len; i++)
        if (!is_digit(s.ptr[i]))
            return false;
    return s.len > 0;
}

static bool contains(str s, const char *part)
{
    size_t n = strlen(part);
    for (size_t i = 0; i + n <= s.len; i++)
        if (memcmp(s.ptr + i, part, n) == 0)
            return true;
    return false;
}

/* Removes and returns the next part of a name; underscores separate parts. */
static str next_part(str *name)
{
    size_t n = 0;
    while (n < name->len && name->ptr[n] != '_')
        n++;
    str part = {name->ptr, n};
    size_t skip = n < name->len ? n + 1 : n;
    *name = (str){name->ptr + skip, name->len - skip};
    return part;
}

/* Removes the tag of the weights, the input size, and the mark of a re-parameterised graph. */
static str without_tag(str name)
{
    size_t n = 0;
    while (n < name.len && name.ptr[n] != '.' && name.ptr[n] != '@' &&
           !str_starts((str){name.ptr + n, name.len - n}, "+reparam"))
        n++;
    return (str){name.ptr, n};
}

/* Parts that name the training organisation or the framework of the weights. */
static const char *const ORIGINS[] = {"tf",  "gluon", "ssl",    "swsl", "ig", "tv",
                                      "adv", "ens",   "legacy", "jx",   "dm", NULL};

static str without_origin(str name)
{
    for (str rest = name;;) {
        str part = next_part(&rest);
        if (!rest.len || !is_one_of(part, ORIGINS))
            return name;
        name = rest;
    }
}

/* ---- architecture ------------------------------------------------------------------------------------------------ */

static const char *const RECIPES[] = {"in1k",    "in12k", "in21k",  "in22k",  "in21ft1k",  "in22ft1k", "22k",
                                      "22kft1k", "ft",    "ns",     "ap",     "ra",        "ra2",      "ra3",
                                      "racm",    "a1h",   "miil",   "dist",   "distilled", "teacher",  "sam",
                                      "tv",      "jx",    "legacy", "augreg", "openai",    "swag",     NULL};
static const char *const IMAGE_SIZES[] = {"192", "196", "224", "240", "256", "288", "320", "336", "378",
                                          "384", "408", "448", "475", "512", "560", "576", "896", NULL};
/* True if numbers in the name are widths, although they look like image sizes. */
static bool has_widths(str name)
{
    return str_starts(name, "levit") || str_starts(name, "regnet") || str_starts(name, "convmixer");
}

static bool is_recipe(str part, str name, int index)
{
    if (index == 0)
        return false;
    if (is_one_of(part, RECIPES))
        return true;
    bool is_a = str_is(part, "a1") || str_is(part, "a2") || str_is(part, "a3");
    if (is_a && !str_starts(name, "mnasnet")) /* mnasnet_a1 is an architecture of its own */
        return true;
    if (is_one_of(part, IMAGE_SIZES) && !has_widths(name))
        return true;
    if (str_starts(part, "window") && part.len > 6 && is_digit(part.ptr[6]))
        return true;
    bool is_step = part.len > 4 && is_digit(part.ptr[0]) && contains(part, "to") && is_digit(part.ptr[part.len - 1]);
    return is_step || (str_is(part, "conv") && str_starts(name, "levit")); /* the same network, written with other
                                                                            * operators */
}

/* Maps torchvision's names and timm's former names to timm's current names. */
static str known_as(str name)
{
    static const char *const NAMES[][2] = {
        {"mobilenet_v2", "mobilenetv2_100"}, {"mnasnet0_5", "mnasnet_050"}, {"mnasnet0_75", "mnasnet_075"},
        {"mnasnet1_0", "mnasnet_100"},       {"mnasnet_b1", "mnasnet_100"}, {"mnasnet_a1", "semnasnet_100"},
    };
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++)
        if (str_is(name, NAMES[i][0]))
            return str_of(NAMES[i][1]);
    return name;
}

/* Maps former names of parts to current ones. */
static str renamed(str part, str name, int index)
{
    if (index == 0 && str_is(part, "deit"))
        return STR("vit");
    if (index == 0 && str_is(part, "beitv2"))
        return STR("beit");
    if (str_is(part, "bitm"))
        return STR("bit");
    /* gluon_resnet50_v1d is resnet50d */
    if (part.len == 3 && str_starts(part, "v1") && str_starts(name, "resnet"))
        return part.ptr[2] == 'b' ? STR("") : (str){part.ptr + 2, 1};
    bool is_b2a = part.len == 3 && part.ptr[0] == 'b' && is_digit(part.ptr[1]) && part.ptr[2] == 'a';
    return is_b2a && str_starts(name, "efficientnet") ? (str){part.ptr, 2} : part;
}

str row_architecture(str name, arena *a)
{
    name = known_as(without_origin(without_tag(name)));
    char *made = arena_room(a, name.len + 1, 1);
    size_t used = 0;
    str rest = name;
    for (int i = 0; rest.len; i++) {
        str part = next_part(&rest);
        if (is_recipe(part, name, i))
            continue;
        part = renamed(part, name, i);
        memcpy(made + used, part.ptr, part.len); /* a new name is never longer than the old one */
        used += part.len;
    }
    made[used] = '\0';
    return (str){made, used};
}

/* ---- family ------------------------------------------------------------------------------------------------------ */

/* The first match counts: a prefix ('^') or a substring of the name. Families group networks by their blocks, because a
 * held-out family must have no near relative in training. */
static const struct {
    const char *part, *family;
} FAMILIES[] = {
    {"^test_", "test"},
    {"^dla", "dla"},
    {"^inception_next", "inceptionnext"},
    {"^inception", "inception"},
    {"^tresnet", "tresnet"},
    {"^cspres", "cspnet"},
    {"darknet", "darknet"},
    {"edgenet", "darknet"},
    {"^nf_", "nfnet"},
    {"nfnet", "nfnet"},
    {"halo", "halonet"},
    {"botnet", "halonet"},
    {"^lambda", "halonet"},
    {"^bat_", "halonet"},
    {"^vit_", "vit"},
    {"^deit", "vit"},
    {"^flexivit", "vit"},
    {"^aimv2", "vit"},
    {"^beit", "beit"},
    {"^eva", "eva"},
    {"resnest", "resnest"},
    {"res2n", "res2net"},
    {"resnet", "resnet"},
    {"resnext", "resnet"},
    {"^senet", "resnet"},
    {"regnet", "regnet"},
    {"efficientnet", "efficientnet"},
    {"^efficientvit_m", "efficientvit-m"},
    {"mnasnet", "mnasnet"},
    {"vovnet", "vovnet"},
    {"ghostnet", "ghostnet"},
    {"xception", "xception"},
    {"^convmixer", "convmixer"},
    {"mixer", "mixer"},
    {"^rexnet", "rexnet"},
    {"^fbnet", "fbnet"},
    {"^tiny_vit", "tinyvit"},
    {"nasneta", "nasnet"},
    {"^pnasnet", "nasnet"},
    {"^caformer", "metaformer"},
    {"^convformer", "metaformer"},
    {"^poolformer", "metaformer"},
    {"^maxvit", "maxvit"},
    {"^maxxvit", "maxvit"},
    {"^coat", "coatnet"},
    {"hiera", "hiera"},
    {"^pvt", "pvt"},
};

str row_family(str name)
{
    name = without_origin(without_tag(name));
    for (size_t i = 0; i < sizeof FAMILIES / sizeof *FAMILIES; i++) {
        const char *part = FAMILIES[i].part;
        if (*part == '^' ? str_starts(name, part + 1) : contains(name, part))
            return str_of(FAMILIES[i].family);
    }
    /* Otherwise the first word: the letters before a digit, without the v of a version (mobilenetv3). */
    str first = next_part(&name);
    size_t n = 0;
    while (n < first.len && !is_digit(first.ptr[n]))
        n++;
    if (n > 1 && n < first.len && first.ptr[n - 1] == 'v' && all_digits((str){first.ptr + n, first.len - n}))
        n--;
    while (n > 1 && first.ptr[n - 1] == '-') /* ofa-17 */
        n--;
    return (str){first.ptr, n ? n : first.len};
}
