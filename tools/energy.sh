#!/bin/sh
# From the measured tables beside the repository to data/energy.txt, in one command; prints how far off it is on rows kept apart:
#
#     tools/energy.sh [OPTION]...      options of `sooth learn --energy`, e.g. --apart rows.csv
#
# Power is fitted to what the predictor says of kernels: run it anew after tools/train.sh.
set -e
cd "$(dirname "$0")/.."
shared=../shared
[ -d $shared/measured/energy ] || {
    echo "energy.sh: there is no $shared/measured/energy: the measured tables lie beside the repository" >&2
    exit 1
}
make -s -j"$(nproc)"
rows=build/energy
tools/energy_rows.py --shared $shared -o $rows >/dev/null
operators=$shared/measured/operators
build/sooth learn --energy $rows/*.csv $operators/aiconfigurator_gemm_other.csv.gz@0.02 \
    $operators/aiconfigurator_attention_other.csv.gz@0.01 -o ${ENERGY_OUTPUT:-data/energy.txt} "$@"
make -s -j"$(nproc)"
