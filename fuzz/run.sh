#!/bin/sh
# Runs one libFuzzer target from its seeds and says how much it did.
#
#     fuzz/run.sh BUILD TARGET SECONDS JOBS
#
# A run that takes longer than FUZZ_TIMEOUT (10) seconds is a finding; on a machine that does other things too, give it more.
# What it found stays in BUILD/fuzz/TARGET/findings; the exit code is 1 then.
set -eu
build=$1 target=$2 seconds=$3 jobs=$4
top=$(cd "$(dirname "$0")/.." && pwd)
case $build in /*) ;; *) build=$top/$build ;; esac
home=$build/fuzz/$target
mkdir -p "$home/corpus" "$home/findings"
rm -f "$home"/fuzz-*.log
[ -d "$home/seeds" ] || "$top/fuzz/seeds.py" "$target" "$home/seeds"

cd "$home"
status=0
"$build/fuzz/${target}_fuzz" -jobs="$jobs" -workers="$jobs" -max_total_time="$seconds" -timeout="${FUZZ_TIMEOUT:-10}" -rss_limit_mb=2048 \
    -max_len=32768 -print_final_stats=1 -dict="$top/fuzz/$target.dict" -artifact_prefix=findings/ corpus seeds >run.log 2>&1 || status=1

executions=$(sed -n 's/^stat::number_of_executed_units: *//p' fuzz-*.log | awk '{ sum += $1 } END { print sum + 0 }')
edges=$(sed -n 's/.*cov: \([0-9]*\) .*/\1/p' fuzz-*.log | sort -n | tail -1)
all=$(sed -n 's/.*(\([0-9]*\) inline 8-bit counters).*/\1/p' fuzz-*.log | sort -n | tail -1)
found=$(ls findings | wc -l)
echo "$target: $seconds s on $jobs cores, $executions executions, ${edges:-0} of ${all:-0} edges covered, $found findings"
if [ "$found" != 0 ] || [ "$status" != 0 ]; then
    ls -1 findings | sed "s|^|    $home/findings/|"
    exit 1
fi
