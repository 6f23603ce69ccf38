# shellcheck shell=bash
# Build perf from $src in $out.

# Frame pointers: perf is also the program that the demo records.
pbuild_cflags='-O2 -g -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer'

# pbuild ARGS: make in tools/perf, warnings being errors. With $san, options for sanitizers,
# clang builds, and $san_libs is linked in.
pbuild() {
	local cc=gcc werror=1

	if [ -n "${san-}" ]; then
		cc=clang
		werror=0
	fi
	! command -v ccache >/dev/null || cc="ccache $cc"
	make -s -j"$jobs" -C "$src/tools/perf" O="$out" CC="$cc" HOSTCC="$cc" \
		EXTRA_PERFLIBS="${san_libs-}" PYTHON=/usr/bin/python3 BUILD_BPF_SKEL=1 WERROR="$werror" NO_SHELLCHECK=1 NO_LIBLLVM=1 NO_LIBUNWIND=1 \
		EXTRA_CFLAGS="$pbuild_cflags ${san-}" "$@"
}
