#!/bin/sh
# Runs libFuzzer targets in sequence and prints a table of results.
#
#     fuzz/run.sh BUILD SECONDS JOBS TARGET...
#
# The first run makes the seeds (fuzz/seeds.py) and keeps those that reach new code (BUILD/fuzz/TARGET/seeds). Inputs
# have up to 1 MB.
# An input is a finding if it crashes, breaks an invariant, takes longer than FUZZ_TIMEOUT (25) seconds of a processor or more than 2 GB of memory.
# Findings stay in BUILD/fuzz/TARGET/findings; the exit code is 1 then.
set -eu
build=$1 seconds=$2 jobs=$3
shift 3
top=$(cd "$(dirname "$0")/.." && pwd)
case $build in /*) ;; *) build=$top/$build ;; esac
timeout=${FUZZ_TIMEOUT:-25}
limits="-timeout=$timeout -report_slow_units=$timeout -rss_limit_mb=2048 -max_len=1048576"
program_of() { if [ -e "$top/fuzz/$1_fuzz.c" ]; then echo "$build/fuzz/$1_fuzz"; else echo "$build/fuzz/model_fuzz"; fi; }

make_seeds() { # of the target whose directory this is
    "$top/fuzz/seeds.py" "$1" candidates
    rm -rf merged
    mkdir merged
    "$(program_of "$1")" -merge=1 $limits -artifact_prefix="$PWD/findings/" "$PWD/merged" "$PWD/candidates" >merge.log 2>&1 || true
    [ -n "$(ls -A merged)" ] || { echo "$1: no seeds, see $PWD/merge.log" >&2; exit 1; }
    mv merged seeds
    rm -rf candidates
}

# libFuzzer counts wall-clock seconds, which include time of other programs.
drop_false_timeouts() {
    for input in findings/timeout-* findings/slow-unit-*; do
        [ -f "$input" ] || continue
        if (ulimit -t "$timeout" && "$(program_of "$1")" -timeout=100000 "$input") >/dev/null 2>&1; then rm "$input"; fi
    done
}

run_target() {
    home=$build/fuzz/$1
    mkdir -p "$home/corpus" "$home/findings"
    cd "$home"
    rm -f fuzz-*.log
    [ -d seeds ] || make_seeds "$1"
    "$(program_of "$1")" -jobs="$jobs" -workers="$jobs" -max_total_time="$seconds" $limits -print_final_stats=1 \
        -dict="$top/fuzz/$1.dict" -artifact_prefix="$home/findings/" "$home/corpus" "$home/seeds" >run.log 2>&1 || true # findings tell
    executions=$(sed -n 's/^stat::number_of_executed_units: *//p' fuzz-*.log | awk '{ sum += $1 } END { print sum + 0 }')
    features=$(sed -n 's/.* ft: \([0-9]*\) .*/\1/p' fuzz-*.log | sort -n | tail -1)
    drop_false_timeouts "$1"
    found=$(find findings -type f | wc -l)
    if [ "$found" != 0 ] || [ "$executions" = 0 ]; then status=1; fi
    printf '%-12s %10s %9s %9s %9s\n' "$1" "$executions" "${features:-0}" $((executions / (seconds + 1))) "$found" |
        tee -a "$build/fuzz/table"
}

status=0
: >"$build/fuzz/table"
for target in "$@"; do
    run_target "$target" >/dev/null
    tail -1 "$build/fuzz/table"
done
printf '\n%-12s %10s %9s %9s %9s\n' target executions features execs/s findings
cat "$build/fuzz/table"
awk '{ executions += $2; findings += $5 } END { printf "%-12s %10d %9s %9s %9d\n", "all", executions, "", "", findings }' "$build/fuzz/table"
for target in "$@"; do find "$build/fuzz/$target/findings" -type f; done
exit $status
