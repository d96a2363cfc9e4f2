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

void front_read(builder *b, const uint8_t *bytes, size_t size)
{
    if (size == 0)
        fail_with(&b->model->fail, SOOTH_ERROR_INPUT, "the file is empty, at byte 0; export the model again");
    for (size_t i = 0; i < sizeof FRONT_ENDS / sizeof *FRONT_ENDS; i++)
        if (FRONT_ENDS[i].sniff(bytes, size)) {
            FRONT_ENDS[i].read(b, bytes, size);
            return;
        }
    fail_with(&b->model->fail, SOOTH_ERROR_INPUT,
              "not a model file that Sooth knows, at byte 0 (it begins with %02x %02x); give a file of "
              "ONNX, PyTorch (torch.export, TorchScript), TensorFlow, Keras, TFLite, TensorFlow.js, Paddle, OpenVINO, "
              "CoreML, "
              "Darknet, Caffe, MXNet, ncnn, StableHLO, HLO, GGUF, safetensors, or Hugging Face's config.json",
              bytes[0], size > 1 ? bytes[1] : 0);
}
