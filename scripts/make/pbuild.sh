# shellcheck shell=bash
# Build perf from $src in $out.

# Build with frame pointers, because tests also record perf itself.
pbuild_cflags='-O2 -g -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer'

# pbuild ARGS: run make in tools/perf; warnings are errors. If $san is set, it has options for
# sanitizers: clang is used, warnings are no errors, and $san_libs is linked in. If $m32 is set,
# perf is built for 32 bits,
# without the libraries that Debian does not have as 32-bit versions on a 64-bit system.
pbuild() {
	local cc=gcc hostcc=gcc werror=1 more=(BUILD_BPF_SKEL=1)

	if [ -n "${san-}" ]; then
		cc=clang
		hostcc=clang
		werror=0
	fi
	if [ -n "${m32-}" ]; then
		cc='gcc -m32'
		more=(LD='ld -m elf_i386' HOSTLD=ld ARCH=x86 BUILD_BPF_SKEL=0 NO_LIBELF=1
			NO_LIBTRACEEVENT=1 NO_LIBPYTHON=1 NO_LIBPERL=1 NO_SLANG=1 NO_DEMANGLE=1)
	fi
	if command -v ccache >/dev/null; then
		cc="ccache $cc"
		hostcc="ccache $hostcc"
	fi
	make -s -j"$jobs" -C "$src/tools/perf" O="$out" CC="$cc" HOSTCC="$hostcc" "${more[@]}" \
		EXTRA_PERFLIBS="${san_libs-}" PYTHON=/usr/bin/python3 WERROR="$werror" NO_SHELLCHECK=1 NO_LIBLLVM=1 NO_LIBUNWIND=1 \
		EXTRA_CFLAGS="$pbuild_cflags ${san-}" "$@"
}
