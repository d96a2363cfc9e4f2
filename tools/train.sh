#!/bin/sh
# Trains data/weights.bin on the measured tables beside the repository, and writes the rows for doc/accuracy.md:
#
#     tools/train.sh [OPTION]...      options of `sooth learn`, e.g. --epochs 2 to try it
#
# An interrupted run resumes. Uses only shares of the largest operator tables, so that it takes less than an hour on two
# cores.
set -e
cd "$(dirname "$0")/.."
shared=../shared
[ -d $shared/labels ] || {
    echo "train.sh: there is no $shared/labels: the measured tables must be beside the repository" >&2
    exit 1
}
make -s -j"$(nproc)"
build=build/train
mkdir -p $build
tools/labels.py --shared $shared --limit 400 -o $build/labels
networks=
for name in nasbench201 fbnet ofa transformers torchvision pycls paddleclas nvidia mig energy mlperf; do
    networks="$networks $build/labels/$name.csv.gz"
done
operators=$shared/measured/operators
start=$(date +%s)
# shellcheck disable=SC2086
build/sooth learn $shared/labels/timm.csv.gz $shared/labels/torchvision.csv.gz $networks \
    $operators/aiconfigurator_attention_a100.csv.gz@0.4 $operators/aiconfigurator_attention_other.csv.gz@0.05 \
    $operators/aiconfigurator_gemm_a100.csv.gz $operators/aiconfigurator_gemm_other.csv.gz@0.11 \
    $operators/deepbench_conv2d.csv.gz $operators/deepbench_gemm.csv.gz \
    $operators/neusight_bmm.csv.gz \
    $operators/neusight_conv2d.csv.gz $operators/neusight_elementwise.csv.gz@0.3 $operators/neusight_layernorm.csv.gz \
    $operators/neusight_linear.csv.gz $operators/neusight_softmax.csv.gz $operators/vidur_llm_ops.csv.gz@0.2 \
    $operators/pipedream_cnn_layers.csv.gz $operators/xla_gemm.csv.gz $operators/deepbench_rnn.csv.gz \
    $operators/xwang_conv3d_batchnorm3d.csv.gz $operators/llmcompass_ops.csv.gz \
    -o data/weights.bin --apart $build/apart.csv "$@"
echo "trained in $(($(date +%s) - start)) s; tools/accuracy.py $build/apart.csv prints the errors"
make -s -j"$(nproc)"
