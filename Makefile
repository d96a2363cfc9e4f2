# Sooth: `make help` lists the targets. GNU make and pkg-config; sources are found, nothing is generated or downloaded.
#
# Each variant has its own build directory: `make BUILD=build-clang CC=clang`, `make asan`, `make valgrind`.

VERSION := $(shell sed -n 's/^.define SOOTH_VERSION "\(.*\)"/\1/p' include/sooth.h)
SOVERSION := 0

BUILD ?= build
PREFIX ?= /usr/local
prefix ?= $(PREFIX)
bindir ?= $(prefix)/bin
includedir ?= $(prefix)/include
libdir ?= $(prefix)/lib
datadir ?= $(prefix)/share
DESTDIR ?=

PKG_CONFIG ?= pkg-config
OBJCOPY ?= objcopy
INSTALL ?= install
CFLAGS ?= -O2 -g
WARNINGS ?= -Wall -Wextra -Werror
SANITIZE ?=

# _DEFAULT_SOURCE gives POSIX 2008 and madvise, without GNU extensions.
ALL_CFLAGS := -std=c17 -pthread -D_DEFAULT_SOURCE -Iinclude -Isrc $(WARNINGS) -fPIC -fvisibility=hidden -MMD -MP \
    $(shell $(PKG_CONFIG) --cflags zlib 2>/dev/null) $(CPPFLAGS) $(CFLAGS)
LIBS := $(shell $(PKG_CONFIG) --libs zlib 2>/dev/null || echo -lz) -lm -pthread
# If SQLite is installed, the program keeps results in SQLite files; libsooth does not use it.
SQLITE_LIBS := $(shell $(PKG_CONFIG) --libs sqlite3 2>/dev/null)
ifneq ($(SQLITE_LIBS),)
ALL_CFLAGS += -DSOOTH_SQLITE $(shell $(PKG_CONFIG) --cflags sqlite3)
endif
# `sooth measure` loads its libraries at run time, so the build needs only their headers. oneDNN has no pkg-config file,
# and version 3 has another interface.
ONEDNN_PROBE := \#include <oneapi/dnnl/dnnl_version.h>\nint version[DNNL_VERSION_MAJOR == 2 ? 1 : -1];\n
MEASURE_CFLAGS := $(shell printf '$(ONEDNN_PROBE)' | $(CC) -fsyntax-only -x c - >/dev/null 2>&1 && echo -DSOOTH_ONEDNN) \
    $(shell $(PKG_CONFIG) --exists openblas && echo -DSOOTH_OPENBLAS && $(PKG_CONFIG) --cflags openblas) \
    $(shell $(PKG_CONFIG) --exists libturbojpeg && echo -DSOOTH_TURBOJPEG && $(PKG_CONFIG) --cflags libturbojpeg)
# `sooth serve` is built if libmicrohttpd is installed.
MICROHTTPD_LIBS := $(shell $(PKG_CONFIG) --libs libmicrohttpd 2>/dev/null)
ifneq ($(MICROHTTPD_LIBS),)
SERVE_CFLAGS := -DSOOTH_MICROHTTPD $(shell $(PKG_CONFIG) --cflags libmicrohttpd)
endif
# MPI=1: long jobs run on several processes (doc/cluster.md). Only src/cli/cluster.c is compiled with MPI's headers.
MPI ?=
ifneq ($(MPI),)
MPICC ?= mpicc
ifeq ($(shell $(MPICC) --showme:link 2>/dev/null || $(MPICC) -link_info 2>/dev/null),)
$(error MPI=1 needs $(MPICC), Open MPI's compiler: install libopenmpi-dev, or leave MPI=1 out)
endif
MPI_CFLAGS := -DSOOTH_MPI $(shell $(MPICC) --showme:compile)
MPI_LIBS := $(shell $(MPICC) --showme:link)
endif
# Structs of a few hundred bytes are copied and zeroed often. GCC for x86 uses a microcoded instruction (rep movs),
# which is slower than a loop over vectors. Other compilers lack these options.
COPY_CFLAGS := -mmemcpy-strategy=vector_loop:512:noalign,libcall:-1:noalign \
    -mmemset-strategy=vector_loop:512:noalign,libcall:-1:noalign
ALL_CFLAGS += $(shell $(CC) $(COPY_CFLAGS) -E -x c /dev/null >/dev/null 2>&1 && echo $(COPY_CFLAGS))
# With -std=c17, GCC for s390x computes float expressions as double, which cannot be combined with float vectors.
ifneq ($(filter s390x-%,$(shell $(CC) -dumpmachine)),)
ALL_CFLAGS += -fexcess-precision=fast
endif
ifneq ($(SANITIZE),)
ALL_CFLAGS += -fsanitize=$(SANITIZE) -fno-sanitize-recover=all -fno-omit-frame-pointer
LDFLAGS += -fsanitize=$(SANITIZE)
endif

SOURCES := $(sort $(shell find src -name '*.c'))
# Rooms of the program alone, because libsooth does not run networks.
PROGRAM_ROOMS := src/gnn/% src/measure/% src/serve/% src/cli/%
LIB_SOURCES := $(filter-out $(PROGRAM_ROOMS),$(SOURCES))
CLI_SOURCES := $(filter $(PROGRAM_ROOMS),$(SOURCES))
GPU_FILES := $(sort $(wildcard data/gpus/*.txt))
HOST_FILES := $(sort $(wildcard data/hosts/*.txt))
LIB_OBJECTS := $(LIB_SOURCES:%.c=$(BUILD)/obj/%.o) $(BUILD)/obj/src/device/shipped.o \
    $(BUILD)/obj/src/predict/shipped.o $(BUILD)/obj/src/memory/shipped.o $(BUILD)/obj/src/report/shipped.o $(BUILD)/obj/src/plan/shipped.o
CLI_OBJECTS := $(CLI_SOURCES:%.c=$(BUILD)/obj/%.o) $(BUILD)/obj/src/serve/shipped.o

LIB_A := $(BUILD)/libsooth.a
LIB_SO := $(BUILD)/libsooth.so
PROGRAM := $(if $(CLI_SOURCES),$(BUILD)/sooth)

.DELETE_ON_ERROR:
.PHONY: all
all: $(LIB_A) $(LIB_SO) $(PROGRAM) $(BUILD)/sooth.pc

CODE := $(shell cat src/learn/*.[ch] src/predict/*.[ch] | cksum | cut -d ' ' -f 1)

# Objects depend on their compiler flags, so that another compiler rebuilds them. Goals that build nothing leave the
# file unchanged.
FLAGS_TEXT := $(CC) $(ALL_CFLAGS) $(MEASURE_CFLAGS) $(SERVE_CFLAGS) $(LDFLAGS) $(LIBS)
ifeq ($(filter install-files uninstall clean help,$(MAKECMDGOALS)),)
$(shell mkdir -p $(BUILD); [ "$$(cat $(BUILD)/flags 2>/dev/null)" = '$(FLAGS_TEXT)' ] || echo '$(FLAGS_TEXT)' >$(BUILD)/flags)
# The list of objects is a prerequisite too, so that a removed source leaves the libraries.
$(shell [ "$$(cat $(BUILD)/objects 2>/dev/null)" = '$(LIB_OBJECTS) $(CLI_OBJECTS) $(GPU_FILES) $(HOST_FILES)' ] || \
    echo '$(LIB_OBJECTS) $(CLI_OBJECTS) $(GPU_FILES) $(HOST_FILES)' >$(BUILD)/objects)
$(shell [ "$$(cat $(BUILD)/code 2>/dev/null)" = '$(CODE)' ] || echo '$(CODE)' >$(BUILD)/code)
endif
$(BUILD)/flags $(BUILD)/objects $(BUILD)/code: ;

$(BUILD)/obj/%.o: %.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -c -o $@ $<

# All GPU files in one text, each after a line with its name, and likewise all host files; the assembler embeds them in
# the library.
$(BUILD)/obj/gpus.txt: $(GPU_FILES) $(BUILD)/objects
	@mkdir -p $(@D)
	awk 'FNR == 1 { print "== " FILENAME } { print }' $(GPU_FILES) >$@
$(BUILD)/obj/hosts.txt: $(HOST_FILES) $(BUILD)/objects
	@mkdir -p $(@D)
	awk 'FNR == 1 { print "== " FILENAME } { print }' $(HOST_FILES) >$@
$(BUILD)/obj/src/device/shipped.o: src/device/shipped.S $(BUILD)/obj/gpus.txt $(BUILD)/obj/hosts.txt data/mig.txt $(BUILD)/flags
	@mkdir -p $(@D)
	$(CC) $(filter-out -MMD -MP,$(ALL_CFLAGS)) -DGPU_TEXTS='"$(BUILD)/obj/gpus.txt"' -DHOST_TEXTS='"$(BUILD)/obj/hosts.txt"' \
	    -c -o $@ $<
$(BUILD)/obj/src/predict/shipped.o: src/predict/shipped.S data/weights.bin data/slices.txt data/energy.txt data/benchmarks.txt \
    $(BUILD)/flags
	@mkdir -p $(@D)
	$(CC) $(filter-out -MMD -MP,$(ALL_CFLAGS)) -DWEIGHTS_FILE='"data/weights.bin"' -c -o $@ $<
$(BUILD)/obj/src/memory/shipped.o: src/memory/shipped.S data/memory.txt $(BUILD)/flags
	@mkdir -p $(@D)
	$(CC) $(filter-out -MMD -MP,$(ALL_CFLAGS)) -DMEMORY_TEXT='"data/memory.txt"' -c -o $@ $<
$(BUILD)/obj/src/plan/shipped.o: src/plan/shipped.S data/plans/dippm.txt data/libraries.txt $(BUILD)/flags
	@mkdir -p $(@D)
	$(CC) $(filter-out -MMD -MP,$(ALL_CFLAGS)) -c -o $@ $<

# The page's charts for HTML reports: modules concatenated without imports and exports.
REPORT_MODULES := $(addprefix web/,format.js charts.js tip.js report.js)
$(BUILD)/obj/report.js: $(REPORT_MODULES)
	@mkdir -p $(@D)
	sed -e '/^import /d' -e 's/^export //' -e '/^\/\/ /d' $(REPORT_MODULES) >$@
$(BUILD)/obj/src/report/shipped.o: src/report/shipped.S $(BUILD)/obj/report.js web/charts.css $(BUILD)/flags
	@mkdir -p $(@D)
	$(CC) $(filter-out -MMD -MP,$(ALL_CFLAGS)) -DREPORT_SCRIPT='"$(BUILD)/obj/report.js"' -c -o $@ $<
$(BUILD)/obj/src/serve/shipped.o: src/serve/shipped.S src/serve/openapi.json $(BUILD)/flags
	@mkdir -p $(@D)
	$(CC) $(filter-out -MMD -MP,$(ALL_CFLAGS)) -c -o $@ $<

# Loading and predictions take most of their time in these rooms, so they are built with -O3. Matrix products use fused
# multiply-add.
HOT_CFLAGS ?= -O3
$(BUILD)/obj/src/front/onnx/%.o $(BUILD)/obj/src/graph/%.o $(BUILD)/obj/src/lower/%.o $(BUILD)/obj/src/memory/%.o $(BUILD)/obj/src/predict/%.o $(BUILD)/obj/src/learn/train.o $(BUILD)/obj/src/gnn/%.o: ALL_CFLAGS += $(HOT_CFLAGS)
$(BUILD)/obj/src/predict/matrix.o: ALL_CFLAGS += $(HOT_CFLAGS) -ffp-contract=fast

# The benchmark of the processor's peak uses fused multiply-add.
$(BUILD)/obj/src/serve/%.o: ALL_CFLAGS += $(SERVE_CFLAGS)
$(BUILD)/obj/src/measure/%.o: ALL_CFLAGS += $(MEASURE_CFLAGS) $(HOT_CFLAGS)
$(BUILD)/obj/src/measure/machine.o: ALL_CFLAGS += -ffp-contract=fast

# Checkpoints contain a checksum of the sources, so that a training never resumes with another program.
$(BUILD)/obj/src/learn/checkpoint.o: ALL_CFLAGS += -DSOOTH_CODE=$(CODE)u
$(BUILD)/obj/src/learn/checkpoint.o: $(BUILD)/code

# One relocatable object with local hidden symbols, so that the static library exports no internals.
$(BUILD)/obj/libsooth.o: $(LIB_OBJECTS) $(BUILD)/objects
	$(LD) -r -o $@ $(LIB_OBJECTS)
	$(OBJCOPY) --localize-hidden $@

$(LIB_A): $(BUILD)/obj/libsooth.o
	rm -f $@
	$(AR) rcs $@ $<

$(LIB_SO): $(LIB_OBJECTS) $(BUILD)/objects src/sooth.map
	$(CC) $(LDFLAGS) -shared -Wl,-soname,libsooth.so.$(SOVERSION) -Wl,--version-script=src/sooth.map \
	    -o $@ $(LIB_OBJECTS) $(LIBS)
	ln -sf libsooth.so $@.$(SOVERSION)

# The program links the objects, because it uses report writers that the library does not export.
$(BUILD)/sooth: $(CLI_OBJECTS) $(LIB_OBJECTS) $(BUILD)/objects
	$(CC) $(LDFLAGS) -o $@ $(CLI_OBJECTS) $(LIB_OBJECTS) $(SQLITE_LIBS) $(MICROHTTPD_LIBS) $(MPI_LIBS) $(LIBS)
$(BUILD)/obj/src/cli/cluster.o: ALL_CFLAGS += $(MPI_CFLAGS)

PC_TEXT = prefix=$(prefix)\nincludedir=$(includedir)\nlibdir=$(libdir)\n\nName: sooth\n\
Description: Predicts the cost of a neural network on a GPU from its file\nVersion: $(VERSION)\n\
Requires.private: zlib\nCflags: -I$${includedir}\nLibs: -L$${libdir} -lsooth\nLibs.private: -lm -pthread\n
# Always written, because the prefix may change.
.PHONY: $(BUILD)/sooth.pc
$(BUILD)/sooth.pc:
	@printf '$(subst \n ,\n,$(PC_TEXT))' >$@

# ---- running and testing ----

# One job per core, unless the user gives -j.
JOBS = $(if $(filter -j%,$(MAKEFLAGS)),,-j$(shell nproc))

# Packages are installed before a second make starts, because pkg-config runs when the Makefile is read.
.PHONY: run
run: ## build, then predict a network that ships with Sooth
	@tools/deps.sh build
	@$(MAKE) --no-print-directory $(JOBS) -s all
	$(BUILD)/sooth predict zoo:resnet50 --gpu a100-sxm4-40gb --batch 32

.PHONY: test
test: ## build and run all tests; the last line is "N passed, N failed"
	@tools/deps.sh test
	@$(MAKE) --no-print-directory $(JOBS) -s all unit-tests
	@tests/run.py --build $(BUILD) $(TESTS)

.PHONY: test-web
test-web: ## build the page and test it in a headless Chromium; installs both
	@tools/deps.sh test-web
	@$(MAKE) --no-print-directory $(JOBS) -s all unit-tests web-files
	@SOOTH_BUILD=$(abspath $(BUILD)) tests/suites/web.py

# Unit tests link the library's objects, because they test internals. oom_test wraps the allocators.
UNIT_SOURCES := $(sort $(wildcard tests/unit/*_test.c))
UNIT_TESTS := $(UNIT_SOURCES:tests/unit/%.c=$(BUILD)/tests/%)
CMOCKA_LIBS = $(shell $(PKG_CONFIG) --libs cmocka)
TEST_MODELS := $(patsubst %.txt,$(BUILD)/%.onnx,$(wildcard tests/models/*.txt)) $(BUILD)/tests/models/convnet.onnx.gz
# Benchmarks run rarely; compiling them here detects changes of the interface.
BENCH_SOURCES := $(wildcard bench/*.c)
.PHONY: unit-tests
unit-tests: $(UNIT_TESTS) $(TEST_MODELS) $(BUILD)/tests/tools/lower $(BUILD)/tests/tools/declared \
    $(BUILD)/tests/tools/algorithm $(BUILD)/tests/tools/memory $(BUILD)/tests/tools/truncated $(BUILD)/tests/tools/inject.so \
    $(BUILD)/tests/tools/stack $(BENCH_SOURCES:%.c=$(BUILD)/obj/%.o) \
    $(if $(shell command -v mpicc),$(BUILD)/tests/sooth-mpi)
# The program with MPI, for tests/suites/cluster.py: one object differs.
$(BUILD)/obj/mpi/cluster.o: src/cli/cluster.c src/cli/cluster.h src/base/ordered.h $(BUILD)/flags
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -DSOOTH_MPI $(shell mpicc --showme:compile 2>/dev/null) -c -o $@ $<
$(BUILD)/tests/sooth-mpi: $(BUILD)/obj/mpi/cluster.o $(CLI_OBJECTS) $(LIB_OBJECTS) $(BUILD)/objects
	@mkdir -p $(@D)
	$(CC) $(LDFLAGS) -o $@ $< $(filter-out $(BUILD)/obj/src/cli/cluster.o,$(CLI_OBJECTS)) $(LIB_OBJECTS) $(SQLITE_LIBS) $(MICROHTTPD_LIBS) \
	    $(shell mpicc --showme:link 2>/dev/null) $(LIBS)
$(BUILD)/tests/oom_test: TEST_LDFLAGS := $(foreach f,malloc calloc realloc free mmap munmap,-Wl,--wrap=$(f))
# Graph networks are not in the library.
GNN_OBJECTS := $(patsubst %.c,$(BUILD)/obj/%.o,$(filter src/gnn/%,$(SOURCES)))
$(BUILD)/tests/gnn_test: $(GNN_OBJECTS)
$(BUILD)/tests/gnn_test: TEST_OBJECTS := $(GNN_OBJECTS)
$(BUILD)/tests/%: $(BUILD)/obj/tests/unit/%.o $(LIB_OBJECTS) $(BUILD)/objects
	@mkdir -p $(@D)
	$(CC) $(LDFLAGS) $(TEST_LDFLAGS) -o $@ $< $(TEST_OBJECTS) $(LIB_OBJECTS) $(LIBS) $(CMOCKA_LIBS)
# Tools of the tests that are not commands of the program.
$(BUILD)/tests/tools/%: $(BUILD)/obj/tests/tools/%.o $(LIB_OBJECTS) $(BUILD)/objects
	@mkdir -p $(@D)
	$(CC) $(LDFLAGS) -o $@ $< $(LIB_OBJECTS) $(LIBS)
# Preloaded, to make calls of the C library fail.
$(BUILD)/tests/tools/inject.so: tests/tools/inject.c
	@mkdir -p $(@D)
	$(CC) -std=c17 -O1 -g $(WARNINGS) -fPIC -shared -pthread -o $@ $<
$(BUILD)/tests/models/%.onnx: tests/models/%.txt tests/tools/onnxtext.py
	@mkdir -p $(@D)
	tests/tools/onnxtext.py $< $@
$(BUILD)/tests/models/%.onnx.gz: tests/models/%.txt tests/tools/onnxtext.py
	@mkdir -p $(@D)
	tests/tools/onnxtext.py $< $@
.PRECIOUS: $(BUILD)/obj/%.o

.PHONY: asan
asan: ## the same tests under AddressSanitizer and UndefinedBehaviorSanitizer
	@$(MAKE) --no-print-directory test BUILD=build-asan SANITIZE=address,undefined CFLAGS='-O1 -g $(CHECKED)'
# Arenas call malloc and free for each object (src/base/arena.c), because large blocks would hide memory errors.
CHECKED := -DSOOTH_ARENA_CHECKED

.PHONY: tsan
tsan: ## the tests without the corpus under ThreadSanitizer
	@$(MAKE) --no-print-directory test BUILD=build-tsan SANITIZE=thread CFLAGS='-O1 -g' TESTS='--quick $(TESTS)'

.PHONY: coverage
coverage: ## coverage of src/ by room, by the tests of a clone without ../shared
	@tools/deps.sh test
	@$(MAKE) --no-print-directory $(JOBS) -s all unit-tests BUILD=build-coverage LDFLAGS=--coverage HOT_CFLAGS= WARNINGS= \
	    CFLAGS='-O0 -g --coverage -fprofile-update=atomic'
	@tests/tools/coverage.py build-coverage $(TESTS)

.PHONY: sanity
sanity: ## rules that every answer must keep, over the zoo, GPUs, batches and settings (minutes)
	@$(MAKE) --no-print-directory $(JOBS) -s all
	@SOOTH_BUILD=$(abspath $(BUILD)) tests/suites/sanity.py --all

.PHONY: growth
growth: ## instructions for N, 2N, 4N of everything that can grow; the table goes to tests/README.md
	@tools/deps.sh develop
	@$(MAKE) --no-print-directory $(JOBS) -s all
	@SOOTH_BUILD=$(abspath $(BUILD)) tests/suites/growth.py --all --table

.PHONY: valgrind
valgrind: ## unit and text tests under valgrind
	@tools/deps.sh develop
	@$(MAKE) --no-print-directory $(JOBS) -s all unit-tests
	@tests/tools/valgrind.sh $(BUILD)

MACHINES ?= i386 s390x musl
.PHONY: other-machines
other-machines: ## unit and text tests with 32 bits (i386), with the high byte first (s390x), with musl
	@tools/deps.sh machines
	@for machine in $(MACHINES); do echo "== $$machine"; tests/tools/machine.sh $$machine || exit 1; done

.PHONY: inject
inject: ## every call of the system fails once, for every command: allocations, files, threads
	@tools/deps.sh test
	@$(MAKE) --no-print-directory $(JOBS) -s all unit-tests
	@SOOTH_INJECT=all tests/run.py --build $(BUILD) inject

.PHONY: check-style
check-style: ## clang-format, sizes of functions, clang-tidy and cppcheck, all without a warning
	@tools/deps.sh develop
	clang-format --dry-run -Werror $(STYLED)
	python3 tests/tools/functions.py
	clang -fsyntax-only -Wall -Wextra -Werror -std=c17 -D_DEFAULT_SOURCE -Iinclude -Isrc $(wildcard fuzz/*.c)
	cppcheck --quiet --error-exitcode=1 --std=c11 --enable=warning,performance --inline-suppr \
	    --suppressions-list=.cppcheck -D_DEFAULT_SOURCE -Iinclude -Isrc src
	@echo clang-tidy
	@printf '%s\0' $(SOURCES) | xargs -0 -n 4 -P $$(nproc) sh -c \
	    'clang-tidy --quiet --warnings-as-errors="*" "$$@" -- -std=c17 -D_DEFAULT_SOURCE -Iinclude -Isrc 2>/dev/null' sh
STYLED = $(shell find include src tests fuzz bench web -name '*.[ch]' 2>/dev/null)

# ---- the page ----

# The page with the program as WebAssembly, for any file server. If another Node.js is installed, Debian's emscripten
# needs NODE_PATH to find Debian's acorn.
EMCC ?= emcc
WEB_OBJ := $(BUILD)/web-obj
WEB_CFLAGS := -std=c17 -D_DEFAULT_SOURCE -D_GNU_SOURCE -Iinclude -Isrc -Iweb/zlib $(WARNINGS) -fvisibility=hidden -msimd128 -MMD -MP
WEB_OPTIMIZE ?= -O2
# Left out: training, measuring, searches that run other programs, data sets, and main, which handles signals.
WEB_LEFT_OUT := src/learn/% src/measure/% src/gnn/% src/serve/% src/plan/set_% src/plan/dataset% $(foreach name,main learn eval nas measure gnn serve dataset sweep npz, \
    src/cli/$(name).c src/cli/$(name)_%) src/cli/mig_rule.c
WEB_SOURCES := $(filter-out $(WEB_LEFT_OUT),$(SOURCES)) web/sooth_web.c web/inflate.c
WEB_OBJECTS := $(WEB_SOURCES:%.c=$(WEB_OBJ)/%.o) $(patsubst %.S,$(WEB_OBJ)/%.o,$(filter-out src/serve/%,$(wildcard src/*/shipped.S)))
WEB_PAGE := $(wildcard web/*.html web/*.css web/*.js web/*.svg)
WEB_LINK := -s MODULARIZE=1 -s EXPORT_ES6=1 -s ENVIRONMENT=worker -s ALLOW_MEMORY_GROWTH=1 -s MAXIMUM_MEMORY=4GB -s INITIAL_MEMORY=32MB \
    -s TOTAL_STACK=4MB -s FORCE_FILESYSTEM=1 -s INVOKE_RUN=0 -s DYNAMIC_EXECUTION=0 -s EXPORTED_RUNTIME_METHODS=FS,HEAPU8,HEAPU32 \
    -s EXPORTED_FUNCTIONS=_sooth_run,_malloc,_free -s NO_EXIT_RUNTIME=1 --no-entry
.PHONY: web
web: ## build the browser page in build/web
	@tools/deps.sh web
	@$(MAKE) --no-print-directory $(JOBS) -s web-files

.PHONY: web-files
web-files: $(BUILD)/web/sooth.wasm $(WEB_PAGE:web/%=$(BUILD)/web/%)
$(BUILD)/web/%: web/%
	@mkdir -p $(@D)
	cp $< $@
$(BUILD)/web/sooth.wasm: $(WEB_OBJECTS)
	@mkdir -p $(@D)
	NODE_PATH=/usr/share/nodejs $(EMCC) $(WEB_OPTIMIZE) -o $(BUILD)/web/sooth.mjs $(WEB_LINK) $(WEB_OBJECTS)
	mv $(BUILD)/web/sooth.mjs $(BUILD)/web/sooth.js
$(WEB_OBJ)/%.o: %.c
	@mkdir -p $(@D)
	$(EMCC) $(WEB_CFLAGS) $(WEB_OPTIMIZE) -c -o $@ $<
$(WEB_OBJ)/src/predict/matrix.o: WEB_OPTIMIZE := -O3
# The page as one archive; equal files give equal bytes.
WEB_ARCHIVE := $(BUILD)/sooth-$(VERSION)-web.tar.gz
.PHONY: web-archive
web-archive: web ## the page as an archive for a release, in build/
	tar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner --mode=go=rX,u+rw,a-s -C $(BUILD) \
	    --transform='s,^web,sooth-$(VERSION)-web,' -cf - web | gzip -9n >$(WEB_ARCHIVE)
SHIPPED_FILES := $(BUILD)/obj/gpus.txt $(BUILD)/obj/hosts.txt $(BUILD)/obj/report.js data/weights.bin web/charts.css $(wildcard data/*.txt data/plans/*.txt)
$(WEB_OBJ)/src/%/shipped.o: src/%/shipped.S src/base/embed.h $(SHIPPED_FILES)
	@mkdir -p $(@D)
	$(EMCC) -Isrc -DGPU_TEXTS='"$(BUILD)/obj/gpus.txt"' -DHOST_TEXTS='"$(BUILD)/obj/hosts.txt"' -DWEIGHTS_FILE='"data/weights.bin"' \
	    -DMEMORY_TEXT='"data/memory.txt"' -DREPORT_SCRIPT='"$(BUILD)/obj/report.js"' -c -o $@ $<

# ---- fuzzing and benchmarks ----

FUZZ_SECONDS ?= 60
FUZZ_MINUTES ?=
FUZZ_JOBS ?= 2
# A target is a dictionary with seeds. Its program is NAME_fuzz, or model_fuzz for formats that need no wrapping.
FUZZ_TARGETS := $(sort $(patsubst fuzz/%.dict,%,$(wildcard fuzz/*.dict)))
FUZZ_COMMON := model invariants program
FUZZ_PROGRAMS := $(sort $(patsubst fuzz/%.c,%,$(wildcard fuzz/*_fuzz.c)))
FUZZ_FLAGS = BUILD=build-fuzz CC=clang SANITIZE=fuzzer-no-link,address,undefined CFLAGS='-O1 -g $(CHECKED)'
.PHONY: fuzz
fuzz: ## libFuzzer on every reader and the stages after it: FUZZ_SECONDS (60) each on FUZZ_JOBS (2) cores, or FUZZ_MINUTES in all
	@tools/deps.sh develop
	@$(MAKE) --no-print-directory $(JOBS) -s fuzz-targets $(FUZZ_FLAGS)
	@fuzz/run.sh build-fuzz $(if $(FUZZ_MINUTES),$$(($(FUZZ_MINUTES) * 60 / $(words $(FUZZ_TARGETS)))),$(FUZZ_SECONDS)) \
	    $(FUZZ_JOBS) $(FUZZ_TARGETS)

.PHONY: fuzz-targets
fuzz-targets: $(FUZZ_PROGRAMS:%=$(BUILD)/fuzz/%)
$(BUILD)/fuzz/%_fuzz: $(BUILD)/obj/fuzz/%_fuzz.o $(FUZZ_COMMON:%=$(BUILD)/obj/fuzz/%.o) $(LIB_OBJECTS) $(BUILD)/fuzz/program.a
	@mkdir -p $(@D)
	$(CC) $(LDFLAGS) -fsanitize=fuzzer -o $@ $^ $(SQLITE_LIBS) $(MICROHTTPD_LIBS) $(LIBS)
# An archive, so that a target links only what it needs and may include a source of the program.
$(BUILD)/fuzz/program.a: $(filter-out $(BUILD)/obj/src/cli/main.o,$(CLI_OBJECTS)) $(BUILD)/objects
	@mkdir -p $(@D)
	rm -f $@
	$(AR) rcs $@ $(filter %.o,$^)

.PHONY: bench
bench: ## benchmarks of speed and memory against the onnx package, nanopb and PyTorch; writes doc/speed.md
	@tools/deps.sh develop
	@$(MAKE) --no-print-directory $(JOBS) -s all $(addprefix $(BUILD)/bench/,load process predict largest nas learn serve)
	@bench/run.py $(BUILD)
$(BUILD)/bench/%: $(BUILD)/obj/bench/%.o $(LIB_OBJECTS) $(BUILD)/objects
	@mkdir -p $(@D)
	$(CC) $(LDFLAGS) -o $@ $< $(LIB_OBJECTS) $(LIBS)

# Reads the same bytes with nanopb and with src/front/common/wire.c; bench/run.py builds it if nanopb is installed.
$(BUILD)/bench/wire: bench/nanopb/wire.c bench/nanopb/onnx.proto $(LIB_OBJECTS)
	@mkdir -p $(BUILD)/bench/nanopb
	protoc --nanopb_out=$(BUILD)/bench/nanopb --proto_path=bench/nanopb onnx.proto >/dev/null
	$(CC) $(filter-out -MMD -MP,$(ALL_CFLAGS)) -I$(BUILD)/bench/nanopb -o $@ bench/nanopb/wire.c \
	    $(BUILD)/bench/nanopb/onnx.pb.c $(LIB_OBJECTS) -lprotobuf-nanopb $(LIBS)

# ---- installing ----

MAN_PAGE := $(wildcard doc/sooth.1)
COMPLETIONS := $(wildcard completions/sooth.bash)
.PHONY: install
install: all ## program, libraries, header, sooth.pc, man page, completions, and the page if it was built (prefix, DESTDIR)
	@$(MAKE) --no-print-directory install-files

.PHONY: install-files
install-files: $(BUILD)/sooth.pc
	$(INSTALL) -d $(DESTDIR)$(bindir) $(DESTDIR)$(includedir) $(DESTDIR)$(libdir)/pkgconfig
	$(INSTALL) -m 755 $(BUILD)/sooth $(DESTDIR)$(bindir)/sooth
	$(INSTALL) -m 644 include/sooth.h $(DESTDIR)$(includedir)/sooth.h
	$(INSTALL) -m 644 $(LIB_A) $(DESTDIR)$(libdir)/libsooth.a
	$(INSTALL) -m 755 $(LIB_SO) $(DESTDIR)$(libdir)/libsooth.so.$(VERSION)
	ln -sf libsooth.so.$(VERSION) $(DESTDIR)$(libdir)/libsooth.so.$(SOVERSION)
	ln -sf libsooth.so.$(SOVERSION) $(DESTDIR)$(libdir)/libsooth.so
	$(INSTALL) -m 644 $(BUILD)/sooth.pc $(DESTDIR)$(libdir)/pkgconfig/sooth.pc
	$(if $(MAN_PAGE),$(INSTALL) -D -m 644 doc/sooth.1 $(DESTDIR)$(datadir)/man/man1/sooth.1)
	$(if $(COMPLETIONS),$(INSTALL) -D -m 644 completions/sooth.bash $(DESTDIR)$(datadir)/bash-completion/completions/sooth)
	$(if $(COMPLETIONS),$(INSTALL) -D -m 644 completions/_sooth $(DESTDIR)$(datadir)/zsh/site-functions/_sooth)
	$(if $(wildcard $(BUILD)/web/sooth.wasm),$(INSTALL) -d $(DESTDIR)$(datadir)/sooth/web)
	$(if $(wildcard $(BUILD)/web/sooth.wasm),$(INSTALL) -m 644 $(wildcard $(BUILD)/web/*) $(DESTDIR)$(datadir)/sooth/web)
	$(if $(DESTDIR),,-ldconfig 2>/dev/null)

.PHONY: uninstall
uninstall: ## remove what install put there (same prefix and DESTDIR)
	rm -f $(DESTDIR)$(bindir)/sooth $(DESTDIR)$(includedir)/sooth.h $(DESTDIR)$(libdir)/libsooth.a \
	    $(DESTDIR)$(libdir)/libsooth.so $(DESTDIR)$(libdir)/libsooth.so.$(SOVERSION) \
	    $(DESTDIR)$(libdir)/libsooth.so.$(VERSION) $(DESTDIR)$(libdir)/pkgconfig/sooth.pc \
	    $(DESTDIR)$(datadir)/man/man1/sooth.1 $(DESTDIR)$(datadir)/bash-completion/completions/sooth \
	    $(DESTDIR)$(datadir)/zsh/site-functions/_sooth
	rm -rf $(DESTDIR)$(datadir)/sooth/web

.PHONY: clean
clean: ## remove everything that was built
	rm -rf build build-*

.PHONY: help
help: ## this list
	@echo 'make                 build $(BUILD)/sooth, $(BUILD)/libsooth.so, $(BUILD)/libsooth.a'
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/make \1\t\2/p' Makefile | expand -t 21 | sort

-include $(LIB_OBJECTS:.o=.d) $(CLI_OBJECTS:.o=.d) $(UNIT_SOURCES:%.c=$(BUILD)/obj/%.d) $(BUILD)/obj/tests/tools/lower.d \
    $(BUILD)/obj/tests/tools/declared.d $(BUILD)/obj/tests/tools/algorithm.d $(BUILD)/obj/tests/tools/memory.d \
    $(patsubst %.c,$(BUILD)/obj/%.d,$(wildcard fuzz/*.c)) \
    $(patsubst %.c,$(BUILD)/obj/%.d,$(wildcard bench/*.c)) $(wildcard $(WEB_OBJECTS:.o=.d))
