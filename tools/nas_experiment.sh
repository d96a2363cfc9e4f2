#!/bin/sh
# Does utilization make a search over architectures faster? From the tables beside the repository to the tables and
# pictures of doc/nas.md, in one command:
#
#     tools/nas_experiment.sh [--repeat N]      1,000 repetitions of each search by default
set -e
cd "$(dirname "$0")/.."
[ -d ../shared/measured/nas_accuracy ] || {
    echo "nas_experiment.sh: there is no ../shared/measured/nas_accuracy: accuracies and latencies are beside the repository" >&2
    exit 1
}
make -s -j"$(nproc)" all
exec tools/nas_experiment.py "$@"
