#!/bin/sh
# Builds Sooth for another machine, runs unit and text tests there, and compares predictions with those of this machine.
#
#     machine.sh i386|s390x|musl
#
# i386 has 32 bits, s390x is big-endian; they run under qemu if the kernel cannot run them. musl is another C library on
# this processor. Libraries of other machines are unpacked into build-MACHINE/root: nothing is installed. zlib and cmocka
# for musl are compiled from Debian's source packages, because Debian has none built with musl.
set -eu
machine=$1
top=$(cd "$(dirname "$0")/../.." && pwd)
cd "$top"
build=build-$machine
home=$top/$build
root=$home/root
mkdir -p "$home/apt/lists/partial" "$home/apt/archives/partial" "$root"

# apt with separate package lists, for another architecture.
foreign_apt() {
    apt-get -qq -o APT::Architecture="$machine" -o APT::Architectures="$machine" -o Dir::State::lists="$home/apt/lists" \
        -o Dir::Cache="$home/apt" -o APT::Sandbox::User=root "$@"
}

unpack_packages() {
    [ ! -e "$root/done" ] || return 0
    foreign_apt update || true # a list that is missing (say, of updates) may not matter
    (cd "$home/apt" && foreign_apt download zlib1g-dev libcmocka0 libcmocka-dev)
    for package in "$home"/apt/*.deb; do dpkg-deb -x "$package" "$root"; done
    touch "$root/done"
}

compile_for_musl() {
    [ ! -e "$root/done" ] || return 0
    mkdir -p "$home/apt/sources" "$root/include" "$root/lib/pkgconfig"
    for list in /etc/apt/sources.list /etc/apt/sources.list.d/*; do
        [ ! -f "$list" ] || sed 's/^Types:.*/Types: deb-src/; s/^deb /deb-src /' "$list" >"$home/apt/sources/$(basename "$list")"
    done
    as_sources="-qq -o Dir::State::lists=$home/apt/lists -o Dir::Cache=$home/apt -o Dir::Etc::sourcelist=$home/apt/sources/sources.list
        -o Dir::Etc::sourceparts=$home/apt/sources -o APT::Sandbox::User=root"
    apt-get $as_sources update || true
    (cd "$home/apt" && apt-get $as_sources --download-only source zlib cmocka)
    for name in zlib cmocka; do
        mkdir -p "$home/apt/$name"
        tar -xf "$(ls "$home"/apt/${name}_*.orig.tar.* | grep -v "\.asc$")" -C "$home/apt/$name" --strip-components=1
    done
    (cd "$home/apt/zlib" && CC=musl-gcc CFLAGS='-O2 -fPIC' ./configure --static --prefix="$root" >/dev/null && make -s install >/dev/null)
    (
        cd "$home/apt/cmocka"
        for have in ASSERT_H INTTYPES_H SETJMP_H SIGNAL_H STDARG_H STDDEF_H STDINT_H STDIO_H STDLIB_H STRING_H STRINGS_H SYS_STAT_H \
            SYS_TYPES_H TIME_H UNISTD_H CALLOC EXIT FPRINTF FREE LONGJMP SIGLONGJMP MALLOC MEMCPY MEMSET PRINTF SETJMP SIGNAL SNPRINTF \
            STRCMP STRCPY STRSIGNAL CLOCK_REALTIME CLOCK_GETTIME_REALTIME; do echo "#define HAVE_$have 1"; done >config.h
        printf '#define WORDS_SIZEOF_VOID_P 8\n' >>config.h
        musl-gcc -O2 -DHAVE_CONFIG_H -DCMOCKA_EXPORTS -I. -Iinclude -c -o cmocka.o src/cmocka.c
        ar rcs "$root/lib/libcmocka.a" cmocka.o
        cp include/cmocka.h "$root/include/"
    )
    printf 'Name: cmocka\nDescription: tests\nVersion: 1\nLibs: -L%s/lib -lcmocka\nCflags: -I%s/include\n' "$root" "$root" \
        >"$root/lib/pkgconfig/cmocka.pc"
    touch "$root/done"
}

flags="-O1 -Wno-maybe-uninitialized" link= emulator= pkgconfig=$root/usr/lib/$machine-linux-gnu/pkgconfig
case $machine in
    i386)
        tools=i686-linux-gnu- flags="$flags -msse2 -mfpmath=sse" emulator="qemu-i386 -L /usr/i686-linux-gnu"
        # Most kernels for x86-64 run such programs themselves, faster.
        loader=/usr/i686-linux-gnu/lib/ld-linux.so.2
        if "$loader" --help >/dev/null 2>&1; then
            emulator="$loader --library-path /usr/i686-linux-gnu/lib:$root/usr/lib/i386-linux-gnu"
        fi
        ;;
    s390x) tools=s390x-linux-gnu- emulator="qemu-s390x -L /usr/s390x-linux-gnu" ;;
    musl) tools= pkgconfig=$root/lib/pkgconfig ;;
    *) echo "usage: machine.sh i386|s390x|musl" >&2; exit 2 ;;
esac
if [ "$machine" = musl ]; then
    compile_for_musl
    compiler=musl-gcc
    export PKG_CONFIG_LIBDIR="$pkgconfig"
else
    unpack_packages
    compiler=${tools}gcc
    link=-Wl,-rpath,$root/usr/lib/$machine-linux-gnu
    export PKG_CONFIG_LIBDIR="$pkgconfig" PKG_CONFIG_SYSROOT_DIR="$root"
fi
make -s -j"$(nproc)" "$build/sooth" unit-tests BUILD="$build" CC="$compiler" LD="${tools}ld" AR="${tools}ar" OBJCOPY="${tools}objcopy" \
    CFLAGS="$flags" LDFLAGS="$link"
unset PKG_CONFIG_LIBDIR PKG_CONFIG_SYSROOT_DIR

# The tests run programs by name: each is replaced by a script that starts it under the emulator.
run=$home/run
rm -rf "$run"
mkdir -p "$run/tests/tools"
ln -s "$home/tests/models" "$run/tests/models"
ln -s "$home/flags" "$run/flags"
for path in "$home/sooth" "$home"/tests/*_test "$home"/tests/tools/*; do
    [ -x "$path" ] || continue
    printf '#!/bin/sh\nexec %s "%s" "$@"\n' "$emulator" "$path" >"$run/${path#"$home"/}"
    chmod +x "$run/${path#"$home"/}"
done
tests/run.py --build "$build/run" --quick _test cases hostile
make -s -j"$(nproc)" all
tests/tools/same_predictions.py build/sooth "$run/sooth"
