# Sooth: `make help` lists the targets. GNU make and pkg-config; sources are found, nothing is generated or downloaded.
#
# Variants live in build directories of their own: `make BUILD=build-clang CC=clang`, `make asan`, `make valgrind`.

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

# _DEFAULT_SOURCE is POSIX 2008 and madvise; nothing of GNU's own is asked for.
ALL_CFLAGS := -std=c17 -D_DEFAULT_SOURCE -Iinclude -Isrc $(WARNINGS) -fPIC -fvisibility=hidden -MMD -MP \
    $(shell $(PKG_CONFIG) --cflags zlib 2>/dev/null) $(CPPFLAGS) $(CFLAGS)
LIBS := $(shell $(PKG_CONFIG) --libs zlib 2>/dev/null || echo -lz) -lm
ifneq ($(SANITIZE),)
ALL_CFLAGS += -fsanitize=$(SANITIZE) -fno-sanitize-recover=all -fno-omit-frame-pointer
LDFLAGS += -fsanitize=$(SANITIZE)
endif

SOURCES := $(sort $(shell find src -name '*.c'))
LIB_SOURCES := $(filter-out src/cli/%,$(SOURCES))
CLI_SOURCES := $(filter src/cli/%,$(SOURCES))
LIB_OBJECTS := $(LIB_SOURCES:%.c=$(BUILD)/obj/%.o)
CLI_OBJECTS := $(CLI_SOURCES:%.c=$(BUILD)/obj/%.o)

LIB_A := $(BUILD)/libsooth.a
LIB_SO := $(BUILD)/libsooth.so
PROGRAM := $(if $(CLI_SOURCES),$(BUILD)/sooth)

.DELETE_ON_ERROR:
.PHONY: all
all: $(LIB_A) $(LIB_SO) $(PROGRAM) $(BUILD)/sooth.pc

# Objects depend on the flags they were compiled with, so that switching the compiler rebuilds.
FLAGS_TEXT := $(CC) $(ALL_CFLAGS) $(LDFLAGS) $(LIBS)
$(shell mkdir -p $(BUILD); [ "$$(cat $(BUILD)/flags 2>/dev/null)" = '$(FLAGS_TEXT)' ] || echo '$(FLAGS_TEXT)' >$(BUILD)/flags)
$(BUILD)/flags: ;

$(BUILD)/obj/%.o: %.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -c -o $@ $<

# The objects' list is a prerequisite too: a source that was removed must leave the libraries.
$(shell [ "$$(cat $(BUILD)/objects 2>/dev/null)" = '$(LIB_OBJECTS) $(CLI_OBJECTS)' ] || \
    echo '$(LIB_OBJECTS) $(CLI_OBJECTS)' >$(BUILD)/objects)
$(BUILD)/objects: ;

# One relocatable object whose hidden symbols are local: the static library does not leak internals into its user.
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

# The program uses the report writers, which are no part of the public interface, so it takes the objects.
$(BUILD)/sooth: $(CLI_OBJECTS) $(LIB_OBJECTS) $(BUILD)/objects
	$(CC) $(LDFLAGS) -o $@ $(CLI_OBJECTS) $(LIB_OBJECTS) $(LIBS)

PC_TEXT = prefix=$(prefix)\nincludedir=$(includedir)\nlibdir=$(libdir)\n\nName: sooth\n\
Description: Tells what a neural network consists of and what it costs, from its file\nVersion: $(VERSION)\n\
Requires.private: zlib\nCflags: -I$${includedir}\nLibs: -L$${libdir} -lsooth\nLibs.private: -lm\n
$(BUILD)/sooth.pc: Makefile include/sooth.h
	@printf '$(subst \n ,\n,$(PC_TEXT))' >$@

.PHONY: clean
clean: ## remove everything that was built
	rm -rf build build-*

.PHONY: help
help: ## this list
	@echo 'make                 build $(BUILD)/sooth, $(BUILD)/libsooth.so, $(BUILD)/libsooth.a'
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/make \1\t\2/p' Makefile | expand -t 21 | sort

-include $(LIB_OBJECTS:.o=.d) $(CLI_OBJECTS:.o=.d)
