/* sniff.c: detects a file's format from its bytes, never from its name. */
#include "front/front.h"

typedef struct front_end {
    bool (*sniff)(const uint8_t *bytes, size_t size);
    void (*read)(builder *b, const uint8_t *bytes, size_t size);
} front_end;

static const front_end FRONT_ENDS[] = {
    {gguf_sniff, gguf_read},
    {safetensors_sniff, safetensors_read},
    {tflite_sniff, tflite_read},
    {coreml_sniff, coreml_read}, /* Before ONNX: both begin with a version. */
    {openvino_sniff, openvino_read},
    {paddle_sniff, paddle_read},
    {paddle_pir_sniff, paddle_pir_read},
    {paddle_js_sniff, paddle_js_read},
    {hlo_proto_sniff, hlo_proto_read},   /* before TensorFlow: an XLA dump has a module where a graph has a node */
    {tensorflow_sniff, tensorflow_read}, /* before ONNX: a SavedModel could be mistaken for ONNX */
    {tfjs_sniff, tfjs_read},             /* before Keras: a TensorFlow.js layers model contains a Keras model */
    {keras_sniff, keras_read},           /* before PyTorch: both are ZIP archives */
    {mxnet_sniff, mxnet_read},
    {ncnn_sniff, ncnn_read},
    {darknet_sniff, darknet_read},
    {caffe_sniff, caffe_read},
    {mlir_text_sniff, mlir_text_read},
    {hlo_text_sniff, hlo_text_read},
    {mlir_bytecode_sniff, mlir_bytecode_read},
    {safetensors_index_sniff, safetensors_index_read},
    {hf_sniff, hf_read}, /* after the other JSON formats, which have distinctive keys */
    {onnx_sniff, onnx_read},
    {torch_sniff, torch_read},
};

static bool starts_with(const uint8_t *bytes, size_t size, const char *text)
{
    return str_starts((str){(const char *)bytes, size}, text);
}

/* If the bytes are the start of a truncated protobuf model, returns the smallest possible size of the whole file,
 * otherwise 0. A model begins with field 1: a small version, or an operator or node, which begins with its name. */
static uint64_t protobuf_cut_at(const uint8_t *bytes, size_t size)
{
    enum { VARINT = 0, PART = 2, MOST_FIELDS = 64, MOST_NUMBER = 1000, LARGEST_VERSION = 100, HEAD = 16 };
    size_t at = 0;
    bool is_text = true;
    for (size_t i = 0; i < size && i < HEAD; i++)
        is_text &= bytes[i] >= '\t' && bytes[i] < 0x80;
    if (is_text)
        return 0;
    for (int fields = 0; at < size && fields < MOST_FIELDS; fields++) {
        uint64_t numbers[2] = {0}; /* the tag; then the number or the length */
        for (int i = 0; i < 2; i++)
            for (int shift = 0;; shift += 7) {
                if (at == size || shift > 56)
                    return 0;
                numbers[i] |= (uint64_t)(bytes[at] & 0x7f) << shift;
                if (!(bytes[at++] & 0x80))
                    break;
            }
        int type = (int)(numbers[0] & 7);
        uint64_t number = numbers[0] >> 3;
        if ((type != VARINT && type != PART) || number == 0 || number > MOST_NUMBER)
            return 0;
        if (fields == 0 && (number != 1 || (type == VARINT && numbers[1] > LARGEST_VERSION)))
            return 0;
        if (fields == 0 && type == PART && (at == size || bytes[at] != (1 << 3 | PART)))
            return 0;
        if (type == PART && numbers[1] > size - at)
            return numbers[1] < (uint64_t)1 << 31 ? at + numbers[1] : 0;
        at += type == PART ? (size_t)numbers[1] : 0;
    }
    return 0;
}

/* Fails with a specific message for files that users often give instead of a model; otherwise returns. */
static void fail_by_guess(fail *f, const uint8_t *bytes, size_t size)
{
    if (starts_with(bytes, size, "version https://git-lfs"))
        fail_with(f, SOOTH_ERROR_INPUT,
                  "a Git LFS pointer instead of the file itself, at byte 0; fetch it with 'git lfs pull'");
    if (starts_with(bytes, size, "<!DOCTYPE html") || starts_with(bytes, size, "<!doctype html") ||
        starts_with(bytes, size, "<html"))
        fail_with(f, SOOTH_ERROR_INPUT, "a web page instead of a model, at byte 0; download the file itself");
    uint64_t whole = protobuf_cut_at(bytes, size);
    if (whole)
        fail_with(
            f, SOOTH_ERROR_INPUT,
            "looks like a protobuf model (TensorFlow, ONNX, CoreML) that is cut off: it has %llu bytes of at least "
            "%llu; get the whole file again",
            (unsigned long long)size, (unsigned long long)whole);
}

void front_read(builder *b, const uint8_t *bytes, size_t size)
{
    if (size == 0)
        fail_with(&b->model->fail, SOOTH_ERROR_INPUT, "the file is empty, at byte 0; export the model again");
    for (size_t i = 0; i < sizeof FRONT_ENDS / sizeof *FRONT_ENDS; i++)
        if (FRONT_ENDS[i].sniff(bytes, size)) {
            FRONT_ENDS[i].read(b, bytes, size);
            return;
        }
    fail_by_guess(&b->model->fail, bytes, size);
    fail_with(
        &b->model->fail, SOOTH_ERROR_INPUT,
        "not a model of any known format, at byte 0 (it begins with %02x %02x); known are ONNX (.onnx), PyTorch "
        "(torch.export .pt2, TorchScript .pt), TensorFlow (.pb), Keras (.keras, .h5, .json), TFLite (.tflite), "
        "TensorFlow.js (model.json), Paddle (.pdmodel, .json), OpenVINO (.xml), CoreML (.mlmodel), Darknet (.cfg), "
        "Caffe (.prototxt), MXNet (-symbol.json), ncnn and pnnx (.param), StableHLO and HLO (.mlir, .hlo, .pb), "
        "GGUF (.gguf), safetensors (.safetensors) and Hugging Face (config.json); export the model again",
        bytes[0], size > 1 ? bytes[1] : 0);
}
