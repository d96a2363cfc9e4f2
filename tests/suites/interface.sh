#!/bin/sh
# The library as users see it: exported symbols, installation, the example at the top of sooth.h.
set -u
build=${SOOTH_BUILD:-$PWD/build}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
count=0 failures=0

# check NAME COMMAND…: one test; its output is shown if it fails.
check() {
    name=$1
    shift
    count=$((count + 1))
    if "$@" >"$work/output" 2>&1; then
        echo "ok $count - $name"
    else
        echo "not ok $count - $name"
        sed 's/^/#   /' "$work/output"
        failures=$((failures + 1))
    fi
}

only_sooth_symbols_are_exported() {
    nm -D --defined-only "$build/libsooth.so" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' >"$work/exported"
    [ -s "$work/exported" ] || { echo "nothing is exported"; return 1; }
    ! grep -v '^sooth_' "$work/exported"
}

exported_is_what_the_header_declares() {
    nm -D --defined-only "$build/libsooth.so" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' | sort >"$work/exported"
    sed -n 's/^SOOTH_API [^(]*[ *]\(sooth_[a-z_]*\)(.*/\1/p' include/sooth.h | sort >"$work/declared"
    diff "$work/declared" "$work/exported"
}

symbols_are_versioned() {
    ! nm -D --defined-only --with-symbol-versions "$build/libsooth.so" | awk '$2 != "A"' | grep -v '@@SOOTH_0.1$'
}

static_library_keeps_internals_local() {
    nm --defined-only --extern-only "$build/libsooth.a" | awk 'NF == 3 { print $3 }' | grep -v '^__odr_asan' >"$work/static"
    [ -s "$work/static" ] || { echo "nothing is exported"; return 1; }
    ! grep -v '^sooth_' "$work/static"
}

library_never_prints_or_exits() {
    ! nm -D --undefined-only "$build/libsooth.so" | grep -wE 'printf|puts|putchar|perror|exit|_exit|abort|quick_exit|stdout|stderr'
}

install_into_destdir() {
    MAKEFLAGS= make -s install-files BUILD="$build" DESTDIR="$work/image" prefix=/usr &&
        for file in bin/sooth include/sooth.h lib/libsooth.a lib/libsooth.so lib/libsooth.so.0 lib/pkgconfig/sooth.pc; do
            [ -e "$work/image/usr/$file" ] || { echo "$file is missing"; return 1; }
        done
    "$work/image/usr/bin/sooth" --version
}

example() {
    sed -n '/^ \*     #include <sooth.h>/,/^ \*     }$/s/^ \*     \{0,1\}//p' include/sooth.h >"$work/example.c"
    grep -q sooth_load_file "$work/example.c" || { echo "no example found in sooth.h"; return 1; }
    tests/tools/onnxtext.py - "$work/model.onnx" <<'MODEL' || return 1
input x float32[N,3,8,8]
init w float32[4,3,3,3]
y = Conv(x, w) name="first" pads=[1,1,1,1]
output y
MODEL
    export PKG_CONFIG_SYSROOT_DIR="$work/image" PKG_CONFIG_LIBDIR="$work/image/usr/lib/pkgconfig"
    ${CC:-cc} -std=c17 -Wall -Wextra -Werror $2 -o "$work/$1" "$work/example.c" -I"$work/image/usr/include" \
        $(pkg-config --libs sooth) $3 || return 1
    LD_LIBRARY_PATH="$work/image/usr/lib" "$work/$1" "$work/model.onnx" >"$work/said" || return 1
    cat "$work/said"
    grep -q '^Conv  *55296 MACs  first$' "$work/said" && grep -q '^108 parameters$' "$work/said" && grep -q "ms, 90 % interval" "$work/said"
}

example_says_what_is_wrong() {
    echo 'no model' >"$work/text.onnx"
    LD_LIBRARY_PATH="$work/image/usr/lib" "$work/shared" "$work/text.onnx" 2>"$work/said"
    [ $? = 1 ] && grep -q . "$work/said"
}

# The GPUs must be inside the library, wherever the program runs. The code is that of sooth.h.
gpus_are_inside() {
    {
        printf '#include <sooth.h>\n#include <stdio.h>\nint main(void)\n{\n    sooth_error error;\n'
        sed -n '/^ \*     sooth_gpus \*gpus;/,/^ \*     }$/s/^ \*//p' include/sooth.h
        echo 'return 0; }'
    } >"$work/gpus.c"
    ${CC:-cc} -std=c17 -Wall -Wextra -Werror $2 -o "$work/gpus-$1" "$work/gpus.c" -I"$work/image/usr/include" \
        -L"$work/image/usr/lib" $3 || return 1
    (cd / && LD_LIBRARY_PATH="$work/image/usr/lib" "$work/gpus-$1") >"$work/said" || return 1
    cat "$work/said"
    grep -q '^108 SMs, 311.869 TFLOP/s$' "$work/said" && (cd / && "$work/image/usr/bin/sooth" gpus a100 >/dev/null)
}

header_is_cpp() {
    command -v c++ >/dev/null || return 0
    echo '#include <sooth.h>' | c++ -std=c++17 -Wall -Wextra -Werror -Iinclude -x c++ -fsyntax-only -
}

uninstall_leaves_nothing() {
    MAKEFLAGS= make -s uninstall BUILD="$build" DESTDIR="$work/image" prefix=/usr && [ -z "$(find "$work/image" ! -type d)" ]
}

# Sanitizer and coverage builds export symbols of their own, so exported symbols are checked in plain builds only.
sanitized=$(grep -oE 'fsanitize=[a-z,-]*|-coverage' "$build/flags" | head -1)
check "only sooth_ symbols are exported" only_sooth_symbols_are_exported
check "the exported symbols are those that sooth.h declares" exported_is_what_the_header_declares
check "symbols are versioned" symbols_are_versioned
check "the static library keeps its internals to itself" static_library_keeps_internals_local
[ -n "$sanitized" ] || check "the library never prints and never exits" library_never_prints_or_exits
check "make install puts everything under DESTDIR" install_into_destdir
check "the example of sooth.h runs with the shared library" example shared "${sanitized:+-$sanitized}" ""
check "the example of sooth.h runs with the static library" example static "${sanitized:+-$sanitized}" "-static-libgcc -Wl,-Bstatic -lsooth -Wl,-Bdynamic -lz -lm"
check "the example of sooth.h says what is wrong with a file" example_says_what_is_wrong
check "the GPUs are in the shared library" gpus_are_inside shared "${sanitized:+-$sanitized}" "-lsooth"
check "the GPUs are in the static library" gpus_are_inside static "${sanitized:+-$sanitized}" "-Wl,-Bstatic -lsooth -Wl,-Bdynamic -lz -lm"
check "sooth.h is C++ as well" header_is_cpp
check "make uninstall leaves nothing" uninstall_leaves_nothing
echo "1..$count"
[ "$failures" = 0 ]
