#!/bin/sh
# Runs the unit tests, and the program over the test models, under valgrind: no invalid access, no leak.
#
#     valgrind.sh BUILD
set -u
build=$1
export SOOTH_BUILD=$build SOOTH_TEST_SLOW=1 CMOCKA_MESSAGE_OUTPUT=TAP
log=$(mktemp)
trap 'rm -f "$log"' EXIT
passed=0 failed=0

# check NAME COMMAND…: codes below 100 are the program's own answer, 100 is valgrind's.
check() {
    name=$1
    shift
    valgrind -q --leak-check=full --show-leak-kinds=all --error-exitcode=100 "$@" >"$log" 2>&1
    code=$?
    if [ "$code" -lt 100 ] && ! grep -q '^not ok' "$log"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "not ok - $name"
        tail -40 "$log" | sed 's/^/#   /'
    fi
}

for test in "$build"/tests/*_test; do
    check "$(basename "$test")" "$test"
done
for model in "$build"/tests/models/*.onnx* zoo:resnet50; do
    for format in table json csv dot svg; do
        check "inspect $model --format $format" "$build/sooth" inspect "$model" --batch 2 --format $format
    done
done
for model in tests/hostile/*; do
    check "inspect $model" "$build/sooth" inspect "$model"
done
for format in table json csv; do
    check "gpus --format $format" "$build/sooth" gpus --format $format
    check "gpus FILE --format $format" "$build/sooth" gpus data/gpus/t4.txt --format $format
done
check "gpus of a directory" env SOOTH_GPUS=data/gpus "$build/sooth" gpus a100
check "gpus with a wrong file" "$build/sooth" gpus ./Makefile
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
