/* sniff.c: tells the format by the bytes, never by the name. */
#include "front/front.h"

typedef struct front_end {
    bool (*sniff)(const uint8_t *bytes, size_t size);
    void (*read)(builder *b, const uint8_t *bytes, size_t size);
} front_end;

static const front_end FRONT_ENDS[] = {
    {gguf_sniff, gguf_read},
    {safetensors_sniff, safetensors_read},
    {tflite_sniff, tflite_read},
    {coreml_sniff, coreml_read}, /* before ONNX: both begin with a version */
    {openvino_sniff, openvino_read},
    {paddle_sniff, paddle_read},
    {paddle_pir_sniff, paddle_pir_read},
    {paddle_js_sniff, paddle_js_read},
    {hlo_proto_sniff, hlo_proto_read},   /* before TensorFlow: a dump of XLA's has a module where a graph has a node */
    {tensorflow_sniff, tensorflow_read}, /* before ONNX: a SavedModel could be taken for one */
    {tfjs_sniff, tfjs_read},             /* before Keras: a layers model has one inside */
    {keras_sniff, keras_read},           /* before PyTorch: both have ZIP archives */
    {mxnet_sniff, mxnet_read},
    {ncnn_sniff, ncnn_read},
    {darknet_sniff, darknet_read},
    {caffe_sniff, caffe_read},
    {mlir_text_sniff, mlir_text_read},
    {hlo_text_sniff, hlo_text_read},
    {mlir_bytecode_sniff, mlir_bytecode_read},
    {safetensors_index_sniff, safetensors_index_read},
    {hf_sniff, hf_read}, /* behind the others that are JSON: they have texts that only they have */
    {onnx_sniff, onnx_read},
    {torch_sniff, torch_read},
};

static bool starts_with(const uint8_t *bytes, size_t size, const char *text)
{
    return str_starts((str){(const char *)bytes, size}, text);
}

/* The bytes that a protobuf would have at least whose last field reaches beyond the end; 0: it is none. */
static uint64_t protobuf_cut_at(const uint8_t *bytes, size_t size)
{
    enum { VARINT = 0, PART = 2, MOST_FIELDS = 64, HEAD = 16 };
    size_t at = 0;
    bool is_text = true;
    for (size_t i = 0; i < size && i < HEAD; i++)
        is_text &= bytes[i] >= '\t' && bytes[i] < 0x80;
    if (is_text)
        return 0;
    for (int fields = 0; at < size && fields < MOST_FIELDS; fields++) {
        uint64_t numbers[2] = {0}; /* the tag, then the number or the length */
        for (int i = 0; i < 2; i++)
            for (int shift = 0;; shift += 7) {
                if (at == size || shift > 56)
                    return 0;
                numbers[i] |= (uint64_t)(bytes[at] & 0x7f) << shift;
                if (!(bytes[at++] & 0x80))
                    break;
            }
        int type = (int)(numbers[0] & 7);
        if ((type != VARINT && type != PART) || numbers[0] >> 3 == 0 || numbers[0] >> 3 > 1000)
            return 0;
        if (type == PART && numbers[1] > size - at)
            return fields > 0 || numbers[1] < (uint64_t)1 << 31 ? at + numbers[1] : 0;
        at += type == PART ? (size_t)numbers[1] : 0;
    }
    return 0;
}

/* What people have instead of a model. Returns where none of it is there. */
static void fail_by_guess(fail *f, const uint8_t *bytes, size_t size)
{
    if (starts_with(bytes, size, "version https://git-lfs"))
        fail_with(f, SOOTH_ERROR_INPUT,
                  "a pointer of Git LFS and not the file itself, at byte 0; fetch it with 'git lfs pull'");
    if (starts_with(bytes, size, "<!DOCTYPE html") || starts_with(bytes, size, "<!doctype html") ||
        starts_with(bytes, size, "<html"))
        fail_with(f, SOOTH_ERROR_INPUT, "a page of the web and not a model, at byte 0; download the file itself");
    uint64_t whole = protobuf_cut_at(bytes, size);
    if (whole)
        fail_with(f, SOOTH_ERROR_INPUT,
                  "cut off if it is a protobuf (TensorFlow, ONNX, CoreML): it has %llu bytes and would have at least "
                  "%llu; get it "
                  "again, whole",
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
    fail_with(&b->model->fail, SOOTH_ERROR_INPUT,
              "not a model file that Sooth knows, at byte 0 (it begins with %02x %02x); give a file of "
              "ONNX, PyTorch (torch.export, TorchScript), TensorFlow, Keras, TFLite, TensorFlow.js, Paddle, OpenVINO, "
              "CoreML, "
              "Darknet, Caffe, MXNet, ncnn, StableHLO, HLO, GGUF, safetensors, or Hugging Face's config.json",
              bytes[0], size > 1 ? bytes[1] : 0);
}
