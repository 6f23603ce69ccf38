# shellcheck shell=bash
# Configure and build a kernel from $src in $out.

# kbuild ARGS: run make in the kernel tree, with reproducible output. KERNEL_CC names another
# compiler for the kernel than gcc.
kbuild() {
	local ccache=

	! command -v ccache >/dev/null || ccache='ccache '
	make -s -j"$jobs" -C "$src" O="$out" CC="$ccache${KERNEL_CC:-gcc}" HOSTCC="${ccache}gcc" \
		LOCALVERSION= KBUILD_BUILD_TIMESTAMP='@0' KBUILD_BUILD_VERSION=1 \
		KBUILD_BUILD_USER=perf-deferred KBUILD_BUILD_HOST=localhost "$@"
}

# kconfig_fragments KIND: print the fragments of a kind of kernel, in order
kconfig_fragments() {
	local part parts

	case $1 in
	-demo) parts='vm unwind' ;;
	-off) parts='vm tests btf' ;;
	-menu) parts='vm tests btf unwind kunit' ;;
	-series) parts='vm tests unwind kunit' ;;
	-deferral | -tables | -static | -shared | -code | -in-place | -no-code)
		parts="vm tests unwind kunit part$1"
		;;
	*) parts="vm tests btf unwind kunit ${1#-}" ;;
	esac
	[ ! -e "$top/scripts/make/config/base-$BASE.config" ] || parts+=" base-$BASE"
	for part in $parts; do
		echo "$top/scripts/make/config/$part.config"
	done
}

# kconfig_missing FRAGMENT...: print options of the fragments that .config lacks; if
# fragments differ, the last one counts
kconfig_missing() {
	cat "$@" | sed -n -e 's/^\(CONFIG_[A-Za-z0-9_]*=.*\)/\1/p' \
		-e 's/^# \(CONFIG_[A-Za-z0-9_]*\) is not set$/\1=n/p' |
	awk -F= '{ last[$1] = $0 } END { for (name in last) print last[name] }' |
	while IFS= read -r want; do
		name=${want%%=*}
		have=$(sed -n "s/^$name=//p" "$out/.config")
		[ "${have:-n}" != "${want#*=}" ] || continue
		# the first patches of the series, which series-check builds, lack the options
		case $name in
		CONFIG_UNWIND_*) grep -qsx "config ${name#CONFIG_}" "$src"/kernel/unwind/Kconfig* || continue ;;
		esac
		echo "$want"
	done
}

# kconfig KIND: write $out/.config from the fragments, touching it only if it changes
kconfig() {
	local missing fragments

	mapfile -t fragments < <(kconfig_fragments "$1")
	[ ! -e "$out/.config" ] || cp -p "$out/.config" "$out/.config.was"
	kbuild KCONFIG_ALLCONFIG=<(cat "$src/kernel/configs/tiny-base.config" \
		"$src/kernel/configs/tiny.config" "$src/arch/x86/configs/tiny.config" \
		"${fragments[@]}" | grep -v CC_OPTIMIZE) allnoconfig >"$out/config.log" 2>&1 ||
		die "the kernel cannot be configured: see $out/config.log"
	missing=$(kconfig_missing "${fragments[@]}")
	[ -z "$missing" ] || die "options the kernel's configuration did not take:" "${missing//$'\n'/ }"
	if cmp -s "$out/.config" "$out/.config.was"; then
		mv "$out/.config.was" "$out/.config"
	fi
}

# kbuild_sparse: run sparse on the series' own kernel files
kbuild_sparse() {
	local log=$out/sparse.log objects

	mapfile -t objects < <(overlay_files | sed -n 's,^\(kernel\|arch/x86\)/\(.*\)\.c$,\1/\2.o,p')
	[ ${#objects[@]} -gt 0 ] || die "the overlay has no kernel file to check"
	"$top/scripts/deps" sparse
	kbuild prepare
	(cd "$out" && rm -f "${objects[@]}")
	kbuild -k C=2 CF='-Wsparse-error' "${objects[@]}" 2>&1 | tee "$log"
	! grep -q -E ': (warning|error):' "$log"
}
