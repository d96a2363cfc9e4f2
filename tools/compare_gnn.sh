#!/bin/sh
# How do graph networks compare with Sooth's predictor, on the same rows? From the measured tables beside the repository
# and the hold-out rows of tools/train.sh to the tables of doc/dippm.md, in one command:
#
#     tools/compare_gnn.sh [--seconds N] [OPTION]...      N: processor time of a training (default 120)
#
# An interrupted run resumes: a training that is done is not repeated. The whole takes about 100 minutes on two cores.
set -e
cd "$(dirname "$0")/.."
[ -d ../shared/labels ] || {
    echo "compare_gnn.sh: there is no ../shared/labels: the measured tables must be beside the repository" >&2
    exit 1
}
make -s -j"$(nproc)" all
exec tools/compare_gnn.py "$@"
