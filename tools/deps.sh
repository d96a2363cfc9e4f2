#!/bin/sh
# deps.sh: installs the Debian packages that Sooth needs. It asks nothing, and does nothing if all are installed.
#
#     tools/deps.sh build|test|develop|machines|web|test-web [--list]
#
# Each group includes the ones before it, except these: machines, for tests on other machines, includes build and test; web, for the page,
# includes build; test-web, for tests of the page in a browser, includes build, test and web. A quick probe that works on any distribution
# detects what is missing; only the installation is Debian's.
set -eu

# group, package, probe
packages() {
    cat <<'LIST'
build   make          command -v make
build   gcc           command -v cc || command -v gcc
build   libc6-dev     test -e /usr/include/stdio.h
build   binutils      command -v objcopy
build   pkg-config    command -v pkg-config
build   zlib1g-dev    pkg-config --exists zlib
build   libsqlite3-dev pkg-config --exists sqlite3
test    libcmocka-dev pkg-config --exists cmocka
test    python3       command -v python3
test    libdnnl-dev   test -e /usr/include/oneapi/dnnl/dnnl.h
test    libopenblas-dev pkg-config --exists openblas
test    libturbojpeg0-dev pkg-config --exists libturbojpeg
test    graphviz      command -v dot
test    libmicrohttpd-dev pkg-config --exists libmicrohttpd
develop libopenmpi-dev command -v mpicc
develop openmpi-bin   command -v mpirun
develop clang         command -v clang
develop clang-format  command -v clang-format
develop clang-tidy    command -v clang-tidy
develop cppcheck      command -v cppcheck
develop valgrind      command -v valgrind
develop nanopb        command -v protoc-gen-nanopb
develop protobuf-compiler command -v protoc
develop libnanopb-dev test -e /usr/include/pb_decode.h
machines gcc-i686-linux-gnu command -v i686-linux-gnu-gcc
machines libc6-dev-i386-cross test -e /usr/i686-linux-gnu/include/stdio.h
machines gcc-s390x-linux-gnu command -v s390x-linux-gnu-gcc
machines libc6-dev-s390x-cross test -e /usr/s390x-linux-gnu/include/stdio.h
machines qemu-user command -v qemu-s390x
machines musl-tools command -v musl-gcc
web     emscripten    command -v emcc
web     nodejs        command -v node
web     node-acorn    test -e /usr/share/nodejs/acorn
browser chromium      command -v chromium
browser chromium-driver command -v chromedriver
LIST
}

wanted=${1:-build}
case $wanted in
    build) groups=" build " ;;
    test) groups=" build test " ;;
    develop) groups=" build test develop " ;;
    machines) groups=" build test machines " ;;
    web) groups=" build web " ;;
    test-web) groups=" build test web browser " ;;
    *) echo "usage: tools/deps.sh build|test|develop|machines|web|test-web [--list]" >&2; exit 2 ;;
esac

missing=$(packages | while read -r group package probe; do
    case $groups in *" $group "*) ;; *) continue ;; esac
    if [ "${2:-}" = --list ] || ! sh -c "$probe" >/dev/null 2>&1; then echo "$package"; fi
done)
if [ "${2:-}" = --list ]; then echo "$missing"; exit 0; fi
[ -n "$missing" ] || exit 0
missing=$(echo $missing)

if ! command -v apt-get >/dev/null; then
    echo "deps.sh: missing: $missing (Debian's names); install them with this system's package manager" >&2
    exit 1
fi
if [ "$(id -u)" = 0 ]; then
    as_root=
elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
    as_root="sudo -n"
else
    echo "deps.sh: missing: $missing; as root: apt-get install $missing" >&2
    exit 1
fi
echo "deps.sh: installing $missing"
export DEBIAN_FRONTEND=noninteractive
install() { $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends $missing >/dev/null; }
# The package lists of a fresh machine are often absent or old.
install 2>/dev/null || { $as_root apt-get update -qq >/dev/null && install; }
