#!/bin/sh
# Fits data/energy.txt on the measured tables beside the repository, and prints the errors on hold-out rows:
#
#     tools/energy.sh [OPTION]...      options of `sooth learn --energy`, e.g. --apart rows.csv
#
# The power model depends on predicted kernels: run it again after tools/train.sh.
set -e
cd "$(dirname "$0")/.."
shared=../shared
[ -d $shared/measured/energy ] || {
    echo "energy.sh: there is no $shared/measured/energy: the measured tables must be beside the repository" >&2
    exit 1
}
make -s -j"$(nproc)"
rows=build/energy
tools/energy_rows.py --shared $shared -o $rows >/dev/null
operators=$shared/measured/operators
build/sooth learn --energy $rows/*.csv $operators/aiconfigurator_gemm_other.csv.gz@0.02 \
    $operators/aiconfigurator_attention_other.csv.gz@0.01 -o ${ENERGY_OUTPUT:-data/energy.txt} "$@"
make -s -j"$(nproc)"
