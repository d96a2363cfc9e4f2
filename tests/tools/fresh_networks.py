"""Networks for the fresh corpus (fresh_corpus.py): from packages of PyPI, and random ones from a grammar of layers.

A row is a name, a function that builds the module, its inputs, and how its output becomes one (batch, channels) matrix:
"" as it is, "token" the first of a sequence, "map" the mean over all other dimensions. Sizes are small and networks
shallow, because tracing and exporting take time. None of timm's networks is here: those are kept apart for judging.

trace.py (../shared/tools/eager_traces) reads this file as a list of networks: NAME(size) is the module, which takes an
image that it ignores, and whose real inputs are buffers.
"""
import importlib
import os
import sys

import torch
from torch import nn

import random_modules

BATCH = 2


# ---- inputs and outputs ------------------------------------------------------------------------------------------------


def example(text):
    """Tensors from words: float NxMx.., tokens LENGTHxVOCABULARY; several are separated by spaces."""
    tensors = []
    for part in text.split():
        kind, _, dims = part.partition(":")
        dims = [int(d) for d in dims.split("x")] if dims else []
        if kind == "tokens":
            tensors.append(torch.randint(0, dims[1], (BATCH, dims[0])))
        elif kind == "steps":
            tensors.append(torch.randint(0, 1000, (BATCH,)))
        else:
            tensors.append(torch.randn(BATCH, *dims))
    return tensors


def tensors_of(out):
    if isinstance(out, torch.Tensor):
        return [out] if out.is_floating_point() else []
    if isinstance(out, dict):
        out = out.values()
    elif hasattr(out, "to_tuple"):
        out = out.to_tuple()
    elif not isinstance(out, (tuple, list)):
        out = [getattr(out, name) for name in ("latent_dist", "sample") if hasattr(out, name)] if out is not None else []
    return [tensor for part in out for tensor in tensors_of(part)]


class Whole(nn.Module):
    """The network with one output of two dimensions, to which all of its outputs contribute."""

    def __init__(self, network, pick):
        super().__init__()
        self.network = network
        self.pick = pick

    def matrix(self, out):
        if out.dim() < 3:
            return out
        return (out[:, 0] if self.pick == "token" and out.dim() == 3 else out.flatten(2).mean(2))

    def forward(self, *inputs):
        outs = [self.matrix(out) for out in tensors_of(self.network(*inputs)) if out.dim() > 1 and out.shape[0] == BATCH]
        return outs[0] if len(outs) == 1 else torch.cat(outs, 1)


class Given(nn.Module):
    """The network with its inputs as buffers, for trace.py, which gives images only."""

    def __init__(self, whole, inputs):
        super().__init__()
        self.whole = whole
        self.count = len(inputs)
        for i, tensor in enumerate(inputs):
            self.register_buffer(f"given{i}", tensor)

    def forward(self, _):
        return self.whole(*(getattr(self, f"given{i}") for i in range(self.count)))


def without_drops(module):
    """A file does not record what is dropped at random."""
    for part in module.modules():
        for name in ("p", "drop_prob", "drop_rate", "dropout", "dropout_p", "attention_dropout", "activation_dropout"):
            if isinstance(getattr(part, name, None), float):
                setattr(part, name, 0.0)
    return module


# ---- torchvision -------------------------------------------------------------------------------------------------------

TORCHVISION = """
segmentation.fcn_resnet50 float:3x64x64 map
segmentation.deeplabv3_mobilenet_v3_large float:3x96x96 map
segmentation.deeplabv3_resnet50 float:3x64x64 map
segmentation.lraspp_mobilenet_v3_large float:3x96x96 map
video.r3d_18 float:3x8x64x64
video.mc3_18 float:3x8x64x64
video.r2plus1d_18 float:3x8x64x64
video.s3d float:3x16x96x96
video.swin3d_t float:3x8x64x64
video.mvit_v1_b float:3x16x224x224
video.mvit_v2_s float:3x16x224x224
quantization.resnet18 float:3x64x64
quantization.mobilenet_v2 float:3x64x64
quantization.mobilenet_v3_large float:3x64x64
quantization.shufflenet_v2_x0_5 float:3x64x64
quantization.googlenet float:3x96x96
detection.resnet18 float:3x96x96 map
detection.mobilenet_v3_large float:3x96x96 map
detection.ssd_vgg float:3x96x96 map
detection.retina_head float:3x96x96 map
""".strip()


def build_torchvision(name):
    import torchvision
    kind, _, rest = name.partition(".")
    if kind == "detection":
        utils = torchvision.models.detection.backbone_utils
        if rest == "resnet18":
            return utils.resnet_fpn_backbone(backbone_name="resnet18", weights=None, trainable_layers=5)
        if rest == "mobilenet_v3_large":
            return utils.mobilenet_backbone(backbone_name=rest, weights=None, fpn=True, trainable_layers=6)
        if rest == "ssd_vgg":
            return torchvision.models.detection.ssd300_vgg16(weights=None, weights_backbone=None).backbone
        network = torchvision.models.detection.retinanet_resnet50_fpn_v2(weights=None, weights_backbone=None)
        return RetinaHead(network)
    module = getattr(torchvision.models, kind)
    keys = {"segmentation": {"weights": None, "weights_backbone": None}, "quantization": {"weights": None, "quantize": False}}
    if rest == "googlenet":
        keys["quantization"] |= {"aux_logits": False, "init_weights": False}
    return getattr(module, rest)(**keys.get(kind, {"weights": None}))


class RetinaHead(nn.Module):
    def __init__(self, network):
        super().__init__()
        self.backbone, self.head = network.backbone, network.head

    def forward(self, x):
        return self.head(list(self.backbone(x).values()))["cls_logits"]


# ---- transformers ------------------------------------------------------------------------------------------------------

VISION = """vit deit beit swin swinv2 convnext convnextv2 resnet regnet mobilenet_v1 mobilenet_v2 mobilevit mobilevitv2
poolformer efficientnet focalnet cvt levit pvt pvt_v2 dinov2 dinov2_with_registers dinov3_vit dinov3_convnext hiera segformer
glpn dpt bit data2vec-vision vit_mae vit_msn siglip_vision_model clip_vision_model swin2sr vitdet textnet yolos hgnet_v2
ijepa aimv2_vision_model mlcd_vision_model chinese_clip_vision_model imagegpt swiftformer altclip_vision_model
blip_vision_model internvl_vision git_vision_model pixio metaclip_2_vision_model""".split()
TEXT = """bert roberta albert distilbert electra deberta deberta-v2 mpnet xlnet funnel squeezebert mobilebert big_bird
nystromformer yoso fnet convbert roformer roberta-prelayernorm rembert megatron-bert ernie canine splinter xlm flaubert ctrl
layoutlm camembert gpt2 gpt_neo gpt_neox gptj opt bloom llama mistral qwen2 qwen3 gemma gemma2 gemma3_text phi phi3 stablelm
falcon mpt codegen olmo olmo2 cohere modernbert persimmon starcoder2 granite glm biogpt xglm helium nemotron esm
clip_text_model siglip_text_model bert-generation openai-gpt nomic_bert markuplm data2vec-text ibert lilt mra luke
xmod smollm3 seed_oss exaone4 diffllama eurobert gpt_bigcode mamba longformer""".split()
AUDIO = """wav2vec2 hubert wavlm unispeech unispeech-sat sew sew-d data2vec-audio wav2vec2-conformer""".split()
ENCODERS = """t5 mt5 bart mbart pegasus m2m_100 blenderbot-small marian umt5 switch_transformers longt5 led plbart
whisper speech_to_text audio-spectrogram-transformer wav2vec2-bert timesformer vivit videomae moonshine encodec dac""".split()
LAYERS = ("num_hidden_layers", "encoder_layers", "decoder_layers", "n_layer", "n_layers", "num_layers", "num_encoder_layers",
          "num_decoder_layers", "num_hidden_groups")


def shrink(config):
    for name in LAYERS:
        if isinstance(getattr(config, name, None), int) and getattr(config, name) > 2:
            setattr(config, name, 2)
    for name in ("depths", "layers_per_stage", "block_sizes"):
        depths = getattr(config, name, None)
        if isinstance(depths, (list, tuple)) and all(isinstance(d, int) for d in depths):
            setattr(config, name, [min(d, 2) for d in depths])
    if getattr(config, "layer_types", None) and hasattr(config, "num_hidden_layers"):
        config.layer_types = config.layer_types[:config.num_hidden_layers]
    if getattr(config, "out_indices", None) and hasattr(config, "num_hidden_layers"):
        config.out_indices = None
    if isinstance(getattr(config, "vocab_size", None), int):
        config.vocab_size = 1000
    for name in ("pad_token_id", "eos_token_id", "bos_token_id", "sep_token_id", "decoder_start_token_id"):
        value = getattr(config, name, None)
        if isinstance(value, int) and value >= 1000:
            setattr(config, name, 1)
    for name in list(vars(config)):
        if ("dropout" in name or "drop_path" in name or name in ("layerdrop", "attn_pdrop", "embd_pdrop", "resid_pdrop")
                or name.endswith("layerdrop") or name.endswith("_prob")) and isinstance(getattr(config, name), float):
            setattr(config, name, 0.0)
    for name in ("apply_spec_augment", "use_cache"):
        if hasattr(config, name):
            setattr(config, name, False)
    for name in ("hidden_size", "d_model", "n_embd", "intermediate_size", "num_attention_heads", "num_key_value_heads"):
        value = getattr(config, name, None)
        if isinstance(value, int) and name in ("hidden_size", "d_model", "n_embd") and value > 1024:
            scale_down(config, value)
            break
    return config


def scale_down(config, width):
    """Networks of billions of parameters: four heads of the same size."""
    head = getattr(config, "head_dim", None) or width // getattr(config, "num_attention_heads", width // 64)
    for name in ("hidden_size", "d_model", "n_embd"):
        if hasattr(config, name):
            setattr(config, name, 8 * head)
    for name in ("num_attention_heads", "n_heads", "n_head"):
        if isinstance(getattr(config, name, None), int):
            setattr(config, name, 8)
    if isinstance(getattr(config, "num_key_value_heads", None), int):
        config.num_key_value_heads = min(config.num_key_value_heads, 8)
        if config.num_key_value_heads not in (1, 2, 4, 8):
            config.num_key_value_heads = 4
    for name in ("intermediate_size", "ffn_dim", "n_inner", "ffn_hidden_size"):
        if isinstance(getattr(config, name, None), int):
            setattr(config, name, 16 * head)


class ByKeyword(nn.Module):
    """Transformers take images, waves and tokens under different names."""

    def __init__(self, network, keyword, fixed):
        super().__init__()
        self.network, self.keyword, self.fixed = network, keyword, fixed

    def forward(self, x):
        return self.network(**{self.keyword: x}, **self.fixed)


def import_torchaudio():
    """The package refuses other versions of CUDA than its own, and so do others that import it; SOOTH_TORCHAUDIO names a
    directory that has it apart from them."""
    version, torch.version.cuda = torch.version.cuda, "13.0"
    try:
        return importlib.import_module("torchaudio")
    except ImportError:
        return None
    finally:
        torch.version.cuda = version


def build_transformers(name):
    import_torchaudio() # transformers imports it if it is there
    import transformers
    config = shrink(transformers.CONFIG_MAPPING[name]())
    network = transformers.AutoModel.from_config(config)
    if hasattr(network, "encoder") and name in ENCODERS and getattr(config, "is_encoder_decoder", False):
        network = network.get_encoder()
    if name in ("encodec", "dac"):
        return network.encoder
    keyword = network.main_input_name
    fixed = {"return_dict": True}
    if name in TEXT and name not in ("clip_text_model", "siglip_text_model", "mamba", "canine", "fnet", "funnel"):
        fixed["use_cache"] = False
    import inspect
    taken = inspect.signature(network.forward).parameters
    if not any(p.kind == p.VAR_KEYWORD for p in taken.values()):
        fixed = {key: value for key, value in fixed.items() if key in taken}
    return ByKeyword(network, keyword, fixed)


HF_INPUTS = {"whisper": "float:80x3000", "speech_to_text": "float:100x80", "audio-spectrogram-transformer": "float:1024x128",
             "wav2vec2-bert": "float:100x160", "timesformer": "float:8x3x224x224", "vivit": "float:32x3x224x224",
             "videomae": "float:16x3x224x224", "encodec": "float:1x4800", "dac": "float:1x4800", "moonshine": "float:8000",
             "vitdet": "float:3x224x224", "swin2sr": "float:3x64x64", "dinov3_vit": "float:3x224x224",
             "dpt": "float:3x384x384", "yolos": "float:3x512x864", "imagegpt": "tokens:64x500",
             "internvl_vision": "float:3x448x448", "aimv2_vision_model": "float:3x224x224",
             "mlcd_vision_model": "float:3x336x336", "canine": "tokens:64x1000", "longformer": "tokens:1024x1000",
             "big_bird": "tokens:128x1000", "pixio": "float:3x256x256"}
HF_MAPS = {"convnext", "convnextv2", "resnet", "regnet", "mobilenet_v1", "mobilenet_v2", "mobilevit", "mobilevitv2", "poolformer",
           "efficientnet", "pvt_v2", "segformer", "glpn", "bit", "vitdet", "textnet", "hgnet_v2", "cvt", "swin2sr",
           "dinov3_convnext", "swiftformer", "encodec", "dac"}


def rows_transformers():
    for names, given in ((VISION, "float:3x224x224"), (TEXT, "tokens:32x1000"), (AUDIO, "float:4000"), (ENCODERS, "tokens:32x1000")):
        for name in names:
            yield name, HF_INPUTS.get(name, given), "map" if name in HF_MAPS else "token"


# ---- segmentation-models-pytorch, MONAI, diffusers, ultralytics, torchaudio, pytorchcv ------------------------------------

SMP = """
Unet.resnet18 Unet.mit_b0 Unet.vgg11_bn UnetPlusPlus.resnet18 MAnet.resnet18 MAnet.efficientnet-b0 Linknet.resnet34
Linknet.mobilenet_v2 FPN.resnet18 FPN.mit_b0 FPN.efficientnet-b0 PSPNet.resnet18 PSPNet.densenet121 PAN.resnet18
PAN.mobilenet_v2 DeepLabV3.resnet18 DeepLabV3Plus.mobilenet_v2 DeepLabV3Plus.resnet34 UPerNet.resnet18 UPerNet.mit_b1
Segformer.mit_b0 Segformer.resnet18 Unet.mobilenet_v2 Unet.efficientnet-b1""".split()


def build_smp(name):
    import segmentation_models_pytorch as smp
    kind, _, encoder = name.partition(".")
    keys = {"decoder_attention_type": "scse"} if name == "Unet.resnet18" else {}
    return getattr(smp, kind)(encoder, encoder_weights=None, in_channels=3, classes=5, **keys)


MONAI = {
    "UNet2d": ("UNet", "float:1x64x64", dict(spatial_dims=2, in_channels=1, out_channels=2, channels=(16, 32, 64), strides=(2, 2), num_res_units=2)),
    "UNet3d": ("UNet", "float:1x32x32x32", dict(spatial_dims=3, in_channels=1, out_channels=2, channels=(16, 32, 64), strides=(2, 2))),
    "BasicUNet": ("BasicUNet", "float:1x32x32x32", dict(spatial_dims=3, features=(16, 16, 32, 64, 128, 16))),
    "BasicUNet2d": ("BasicUNet", "float:1x64x64", dict(spatial_dims=2, norm="batch")),
    "AttentionUnet": ("AttentionUnet", "float:1x64x64", dict(spatial_dims=2, in_channels=1, out_channels=2, channels=(16, 32, 64), strides=(2, 2))),
    "SegResNet": ("SegResNet", "float:1x32x32x32", dict(spatial_dims=3, init_filters=16)),
    "SegResNet2d": ("SegResNet", "float:1x64x64", dict(spatial_dims=2, init_filters=16, norm="batch")),
    "SegResNetDS": ("SegResNetDS", "float:1x64x64", dict(spatial_dims=2)),
    "UNETR": ("UNETR", "float:1x32x32x32", dict(in_channels=1, out_channels=2, img_size=32, hidden_size=192, mlp_dim=384, num_heads=6)),
    "SwinUNETR": ("SwinUNETR", "float:1x64x64", dict(in_channels=1, out_channels=2, spatial_dims=2, feature_size=12)),
    "DynUNet": ("DynUNet", "float:1x64x64", dict(spatial_dims=2, in_channels=1, out_channels=2, kernel_size=[3, 3, 3], strides=[1, 2, 2], upsample_kernel_size=[2, 2])),
    "VNet": ("VNet", "float:1x64x64", dict(spatial_dims=2)),
    "HighResNet": ("HighResNet", "float:1x32x32", dict(spatial_dims=2)),
    "DenseNet121": ("DenseNet121", "float:1x64x64", dict(spatial_dims=2, in_channels=1, out_channels=3)),
    "DenseNet3d": ("DenseNet", "float:1x32x32x32", dict(spatial_dims=3, in_channels=1, out_channels=3, block_config=(2, 2, 2))),
    "EfficientNetBN": ("EfficientNetBN", "float:3x64x64", dict(model_name="efficientnet-b0", pretrained=False)),
    "SEResNet50": ("SEResNet50", "float:3x64x64", dict(spatial_dims=2, in_channels=3)),
    "ViT": ("ViT", "float:1x64x64", dict(in_channels=1, img_size=(64, 64), patch_size=(16, 16), spatial_dims=2, hidden_size=192, mlp_dim=384, num_layers=3, num_heads=6)),
    "ViTAutoEnc": ("ViTAutoEnc", "float:1x32x32x32", dict(in_channels=1, img_size=(32, 32, 32), patch_size=(16, 16, 16), hidden_size=192, mlp_dim=384, num_layers=3, num_heads=6)),
    "AutoEncoder": ("AutoEncoder", "float:1x32x32", dict(spatial_dims=2, in_channels=1, out_channels=1, channels=(8, 16), strides=(2, 2))),
    "BasicUNetPlusPlus": ("BasicUNetPlusPlus", "float:1x64x64", dict(spatial_dims=2)),
    "RegUNet": ("RegUNet", "float:2x32x32", dict(spatial_dims=2, in_channels=2, num_channel_initial=8, depth=2)),
    "FlexibleUNet": ("FlexibleUNet", "float:3x64x64", dict(in_channels=3, out_channels=2, backbone="efficientnet-b0", spatial_dims=2)),
    "DiffusionModelUNet": ("DiffusionModelUNet", "float:1x32x32 steps:", dict(spatial_dims=2, in_channels=1, out_channels=1, channels=(32, 64), attention_levels=(False, True), num_res_blocks=1, num_head_channels=32)),
    "AutoencoderKL": ("AutoencoderKL", "float:1x32x32", dict(spatial_dims=2, in_channels=1, out_channels=1, channels=(32, 64), latent_channels=4, num_res_blocks=(1, 1), attention_levels=(False, False))),
    "VQVAE": ("VQVAE", "float:1x32x32", dict(spatial_dims=2, in_channels=1, out_channels=1, channels=(32, 64), num_res_channels=(32, 64), num_res_layers=1, downsample_parameters=((2, 4, 1, 1), (2, 4, 1, 1)), upsample_parameters=((2, 4, 1, 1, 0), (2, 4, 1, 1, 0)))),
    "MedNeXtS": ("MedNeXtS", "float:1x32x32", dict(spatial_dims=2, in_channels=1, out_channels=2)),
    "ResNet3d": ("ResNet", "float:1x32x32x32", dict(block="basic", layers=[1, 1, 1, 1], block_inplanes=[16, 32, 64, 128], spatial_dims=3, n_input_channels=1, num_classes=3)),
    "HoVerNet": ("HoVerNet", "float:3x256x256", dict(mode="fast", out_classes=5)),
    "Quicknat": ("Quicknat", "float:1x64x64", dict(num_classes=4)),
    "AHNet": ("AHNet", "float:1x64x64", dict(spatial_dims=2, upsample_mode="bilinear")),
    "Discriminator": ("PatchDiscriminator", "float:1x64x64", dict(spatial_dims=2, channels=16, in_channels=1, num_layers_d=2)),
    "VoxelMorphUNet": ("VoxelMorphUNet", "float:2x32x32", dict(spatial_dims=2, in_channels=2, unet_out_channels=8, channels=(8, 16, 16, 16, 16, 16), final_conv_channels=(8, 8))),
}
MONAI_FLAT = {"DenseNet121", "DenseNet3d", "EfficientNetBN", "SEResNet50", "ResNet3d"}
MONAI_TOKENS = {"ViT"}


def build_monai(name):
    nets = importlib.import_module("monai.networks.nets")
    kind, _, keys = MONAI[name]
    return getattr(nets, kind)(**keys)


DIFFUSERS = {
    "UNet2DModel": ("float:3x32x32 steps:", dict(sample_size=32, in_channels=3, out_channels=3, block_out_channels=(32, 64), down_block_types=("DownBlock2D", "AttnDownBlock2D"), up_block_types=("AttnUpBlock2D", "UpBlock2D"), norm_num_groups=8)),
    "UNet2DConditionModel": ("float:4x32x32 steps: float:16x64", dict(sample_size=32, block_out_channels=(32, 64), down_block_types=("CrossAttnDownBlock2D", "DownBlock2D"), up_block_types=("UpBlock2D", "CrossAttnUpBlock2D"), layers_per_block=1, cross_attention_dim=64, attention_head_dim=8, norm_num_groups=8)),
    "AutoencoderKL": ("float:3x32x32", dict(block_out_channels=(32, 64), down_block_types=("DownEncoderBlock2D",) * 2, up_block_types=("UpDecoderBlock2D",) * 2, latent_channels=4, norm_num_groups=8)),
    "VQModel": ("float:3x32x32", dict(block_out_channels=(32, 64), down_block_types=("DownEncoderBlock2D",) * 2, up_block_types=("UpDecoderBlock2D",) * 2, norm_num_groups=8)),
    "AutoencoderTiny": ("float:3x64x64", {}),
    "UNet1DModel": ("float:2x256 steps:", dict(sample_size=256, block_out_channels=(32, 32, 64), extra_in_channels=16)),
    "UNet3DConditionModel": ("float:4x4x16x16 steps: float:8x64", dict(sample_size=16, block_out_channels=(32, 64), down_block_types=("CrossAttnDownBlock3D", "DownBlock3D"), up_block_types=("UpBlock3D", "CrossAttnUpBlock3D"), layers_per_block=1, cross_attention_dim=64, attention_head_dim=8, norm_num_groups=8)),
    "SD3Transformer2DModel": ("float:16x32x32 float:8x64 float:64 steps:", dict(sample_size=32, num_layers=2, attention_head_dim=16, num_attention_heads=4, joint_attention_dim=64, caption_projection_dim=64, pooled_projection_dim=64)),
    "AutoencoderDC": ("float:3x64x64", dict(attention_head_dim=8, encoder_block_out_channels=(16, 32), decoder_block_out_channels=(16, 32), encoder_layers_per_block=(1, 1), decoder_layers_per_block=(1, 1), encoder_block_types=("ResBlock", "EfficientViTBlock"), decoder_block_types=("ResBlock", "EfficientViTBlock"), encoder_qkv_multiscales=((), (5,)), decoder_qkv_multiscales=((), (5,)), latent_channels=8)),
    "AsymmetricAutoencoderKL": ("float:3x32x32", dict(down_block_out_channels=(32, 64), up_block_out_channels=(32, 64), down_block_types=("DownEncoderBlock2D",) * 2, up_block_types=("UpDecoderBlock2D",) * 2, norm_num_groups=8)),
}


def build_diffusers(name):
    import diffusers
    return getattr(diffusers, name)(**DIFFUSERS[name][1])


ULTRALYTICS = """yolov3-tiny yolov5n yolov5s-p6 yolov6n yolov8n yolov8s yolov8n-seg yolov8n-pose yolov8n-obb yolov8n-cls yolov8n-ghost
yolov8n-p2 yolov8n-p6 yolov9t yolov9s yolov10n yolov10s yolo11n yolo11n-seg yolo11n-pose yolo11n-cls yolo12n yolo12n-cls yolo26n
yolo26n-seg yolo26n-cls""".split()


def build_ultralytics(name):
    from ultralytics.nn import tasks
    kind = "ClassificationModel" if name.endswith("-cls") else "SegmentationModel" if name.endswith("-seg") \
        else "PoseModel" if name.endswith("-pose") else "OBBModel" if name.endswith("-obb") \
        else "DetectionModel"
    network = getattr(tasks, kind)(f"{name}.yaml", verbose=False)
    return network if kind == "ClassificationModel" else Raw(network)


class Raw(nn.Module):
    """A YOLO up to its maps, without decoded boxes: those are computed for training."""

    def __init__(self, network):
        super().__init__()
        self.network = network

    def forward(self, x):
        head = self.network.model[-1]
        was = head.training
        head.training = True
        try:
            return self.network.predict(x)
        finally:
            head.training = was


PYTORCHCV = """airnet50_1x64d_r16 airnext50_32x4d_r2 bagnet9 bam_resnet18 cbam_resnet18 bninception condensenet74_c4_g4
darknet_tiny darknet53 densenet40_k12_cifar10 diapreresnet10 diaresnet10 dicenet_wd5 diracnet18v2 dla34 dla46xc dpn68b drnd22
edanet_cityscapes efficientnet_b0 enet_cityscapes erfnet_cityscapes espnetv2_wd2 fastscnn_cityscapes fbnet_cb fdmobilenet_wd4
fishnet99 fractalnet_cifar10 ghostnet hardnet39ds hrnet_w18_small_v1 ibn_resnet50 ibnb_resnet50 icnet_resnetd50b_cityscapes
igcv3_wd4 inceptionresnetv1 irevnet301 isqrtcovresnet18 lednet_cityscapes linknet_cityscapes menet108_8x1_g3 mixnet_s mnasnet_small
mobilenetv2b_wd4 mobilenetv3_small_wd2 msdnet22_cifar10 nin_cifar10 octresnet10_ad2 peleenet polynet preresnet10 proxylessnas_cpu
pyramidnet110_a48_cifar10 regnety002 resattnet56 resnesta18 resneta10 revnet38 rir_cifar10 ror3_56_cifar10 scnet50
selecsls42 senet16 sepreresnet10 shakeshakeresnet20_2x16d_cifar10 sharesnet18 shufflenet_g3_wd4 shufflenetv2b_wd2
sinet_cityscapes sknet50 sparsenet121 squeezenet_v1_1 squeezeresnet_v1_1 vovnet27s wrn20_10_1bit_cifar10 xdensenet40_2_k24_bc_cifar10
xception zfnet bisenet_resnet18_celebamaskhq cgnet_cityscapes dabnet_cityscapes danet_resnetd50b_cityscapes
deeplabv3_resnetd50b_voc esnet_cityscapes espcnet_cityscapes fcn8sd_resnetd50b_voc fpenet_cityscapes
lwopenpose2d_mobilenet_cmupan_coco pspnet_resnetd50b_voc segnet_cityscapes simplepose_resnet18_coco alphapose_fastseresnet101b_coco
centernet_resnet18_coco visemenet20 resnet18_wd4 quartznet5x5_en_ls jasper5x3""".split()


def build_pytorchcv(name):
    from pytorchcv.model_provider import get_model
    keys = {}
    if "cityscapes" in name or name.endswith("_voc") or "celeba" in name:
        keys = {"in_size": (64, 128)} if "cityscapes" in name else {"in_size": (96, 96)}
    if "cityscapes" in name or name.endswith("_voc"):
        keys["aux"] = False
    try:
        return get_model(name, pretrained=False, **keys)
    except TypeError:
        keys.pop("aux", None)
        return get_model(name, pretrained=False, **keys)


def pytorchcv_input(name):
    if "cifar" in name:
        return "float:3x32x32", ""
    if "cityscapes" in name:
        return "float:3x64x128", "map"
    if "_voc" in name or "celeba" in name:
        return "float:3x96x96", "map"
    if "_coco" in name:
        return ("float:3x256x192" if "pose_" in name and "lw" not in name else "float:3x128x128"), "map"
    if name.startswith(("quartznet", "jasper")):
        return "float:64x128", "map"
    return "float:3x224x224", ""


TORCHAUDIO = {
    "Conformer": ("float:50x80 lengths", dict(input_dim=80, num_heads=4, ffn_dim=128, num_layers=2, depthwise_conv_kernel_size=31)),
    "ConvTasNet": ("float:1x2000", dict(num_sources=2, msk_num_layers=3, msk_num_stacks=2)),
    "Wav2Letter": ("float:1x800", dict(num_classes=40, input_type="power_spectrum", num_features=1)),
    "DeepSpeech": ("float:1x50x80", dict(n_feature=80)),
    "hubert_base": ("float:4000", {}),
    "wavlm_base": ("float:4000", {}),
    "HDemucs": ("float:2x44100", dict(sources=["a", "b"], channels=16, depth=4)),
    "WaveRNN": ("float:1x100", {}),
}


def build_torchaudio(name):
    sys.path.append(os.environ.get("SOOTH_TORCHAUDIO", ""))
    torchaudio = import_torchaudio()
    keys = dict(TORCHAUDIO[name][1])
    if name in ("hubert_base", "wavlm_base"):
        network = getattr(torchaudio.models, name)(encoder_layer_drop=0.0)
        network.encoder.transformer.layers = network.encoder.transformer.layers[:2]
        return network
    network = getattr(torchaudio.models, name)(**keys)
    if name == "Conformer":
        return WithLengths(network)
    return network


class WithLengths(nn.Module):
    def __init__(self, network):
        super().__init__()
        self.network = network

    def forward(self, x):
        return self.network(x, torch.full((x.shape[0],), x.shape[1], device=x.device))


# ---- the catalogue -----------------------------------------------------------------------------------------------------


def rows():
    """{name: (source, name within it, inputs, pick)}, sources in turn, so that a list cut short has all of them."""
    queues = [
        [("tv", *(line.split() + [""])[:3]) for line in TORCHVISION.splitlines()],
        [("hf", *row) for row in rows_transformers()],
        [("smp", name, "float:3x64x64" if not name.startswith(("PSP", "UPer")) else "float:3x96x96", "map") for name in SMP],
        [("monai", name, row[1], "" if name in MONAI_FLAT else "token" if name in MONAI_TOKENS else "map")
         for name, row in MONAI.items()],
        [("diffusers", name, row[0], "map") for name, row in DIFFUSERS.items()],
        [("ultralytics", name, "float:3x128x128", "" if name.endswith("-cls") else "map") for name in ULTRALYTICS],
        [("pytorchcv", name, *pytorchcv_input(name)) for name in PYTORCHCV],
        [("torchaudio", name, row[0].replace(" lengths", ""), "map") for name, row in TORCHAUDIO.items()],
        [("random", str(seed), random_modules.inputs(seed), "map") for seed in range(60)],
    ]
    catalogue, turns = {}, 30
    for turn in range(turns):
        for queue in queues:
            for row in queue[len(queue) * turn // turns:len(queue) * (turn + 1) // turns]:
                catalogue[f"{row[0]}.{row[1]}"] = row
    return catalogue


BUILDERS = {"tv": build_torchvision, "hf": build_transformers, "smp": build_smp, "monai": build_monai,
            "diffusers": build_diffusers, "ultralytics": build_ultralytics, "pytorchcv": build_pytorchcv,
            "torchaudio": build_torchaudio, "random": random_modules.build}


def make(name):
    """(the module with one output, its inputs)"""
    source, within, given, pick = rows()[name]
    os.environ.setdefault("YOLO_OFFLINE", "true")
    torch.manual_seed(0)
    return Whole(without_drops(BUILDERS[source](within)), pick), example(given)


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    return lambda size: Given(*make(name))
