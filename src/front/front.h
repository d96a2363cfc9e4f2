/* front.h: the front ends: each converts one file format to the model's source. */
#ifndef SOOTH_FRONT_FRONT_H
#define SOOTH_FRONT_FRONT_H

#include "graph/build.h"

/* Detects the format from the bytes, never from the name, and calls its front end. Fails on an unknown format. */
void front_read(builder *b, const uint8_t *bytes, size_t size);

/* onnx.c */
bool onnx_sniff(const uint8_t *bytes, size_t size);
void onnx_read(builder *b, const uint8_t *bytes, size_t size);

/* caffe.c */
bool caffe_sniff(const uint8_t *bytes, size_t size);
void caffe_read(builder *b, const uint8_t *bytes, size_t size);

/* darknet.c */
bool darknet_sniff(const uint8_t *bytes, size_t size);
void darknet_read(builder *b, const uint8_t *bytes, size_t size);

/* gguf.c */
bool gguf_sniff(const uint8_t *bytes, size_t size);
void gguf_read(builder *b, const uint8_t *bytes, size_t size);

/* safetensors.c: weights only, and the index of weights in several files */
bool safetensors_sniff(const uint8_t *bytes, size_t size);
void safetensors_read(builder *b, const uint8_t *bytes, size_t size);
bool safetensors_index_sniff(const uint8_t *bytes, size_t size);
void safetensors_index_read(builder *b, const uint8_t *bytes, size_t size);

/* hf_config.c */
bool hf_sniff(const uint8_t *bytes, size_t size);
void hf_read(builder *b, const uint8_t *bytes, size_t size);

/* keras.c */
bool keras_sniff(const uint8_t *bytes, size_t size);
void keras_read(builder *b, const uint8_t *bytes, size_t size);

/* coreml.c */
bool coreml_sniff(const uint8_t *bytes, size_t size);
void coreml_read(builder *b, const uint8_t *bytes, size_t size);

/* openvino.c */
bool openvino_sniff(const uint8_t *bytes, size_t size);
void openvino_read(builder *b, const uint8_t *bytes, size_t size);

/* paddle.c, paddle_pir.c, paddle_js.c */
bool paddle_sniff(const uint8_t *bytes, size_t size);
void paddle_read(builder *b, const uint8_t *bytes, size_t size);
bool paddle_pir_sniff(const uint8_t *bytes, size_t size);
void paddle_pir_read(builder *b, const uint8_t *bytes, size_t size);
bool paddle_js_sniff(const uint8_t *bytes, size_t size);
void paddle_js_read(builder *b, const uint8_t *bytes, size_t size);

/* mxnet.c */
bool mxnet_sniff(const uint8_t *bytes, size_t size);
void mxnet_read(builder *b, const uint8_t *bytes, size_t size);

/* ncnn.c */
bool ncnn_sniff(const uint8_t *bytes, size_t size);
void ncnn_read(builder *b, const uint8_t *bytes, size_t size);

/* tensorflow.c */
bool tensorflow_sniff(const uint8_t *bytes, size_t size);
void tensorflow_read(builder *b, const uint8_t *bytes, size_t size);

/* tfjs.c */
bool tfjs_sniff(const uint8_t *bytes, size_t size);
void tfjs_read(builder *b, const uint8_t *bytes, size_t size);

/* tflite.c */
bool tflite_sniff(const uint8_t *bytes, size_t size);
void tflite_read(builder *b, const uint8_t *bytes, size_t size);

/* hlo_text.c */
bool hlo_text_sniff(const uint8_t *bytes, size_t size);
void hlo_text_read(builder *b, const uint8_t *bytes, size_t size);

/* hlo_proto.c */
bool hlo_proto_sniff(const uint8_t *bytes, size_t size);
void hlo_proto_read(builder *b, const uint8_t *bytes, size_t size);

/* mlir_bytecode.c: StableHLO as bytecode, jax.export */
bool mlir_bytecode_sniff(const uint8_t *bytes, size_t size);
void mlir_bytecode_read(builder *b, const uint8_t *bytes, size_t size);

/* mlir_text.c: StableHLO as text */
bool mlir_text_sniff(const uint8_t *bytes, size_t size);
void mlir_text_read(builder *b, const uint8_t *bytes, size_t size);

/* torch_archive.c: ZIP archives of PyTorch */
bool torch_sniff(const uint8_t *bytes, size_t size);
void torch_read(builder *b, const uint8_t *bytes, size_t size);

#endif
