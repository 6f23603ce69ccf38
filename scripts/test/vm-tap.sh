# shellcheck shell=bash
# Run test programs in the VM. Needs lib.sh and tap.sh.

# vm_tap LABEL FOLDER [VM-OPTION...] -- PROGRAM...: run programs of FOLDER, one after
# the other in one VM, and take over the TAP that each prints. VM_TAP_SCALE (1) scales the work
# of the programs.
vm_tap() {
	local label=$1 dir=$2 status=0 p rc
	local -a options=()

	shift 2
	while [ "$1" != -- ]; do
		options+=("$1")
		shift
	done
	shift
	rm -f "$dir"/*.tap "$dir"/*.err "$dir"/*.rc
	# shellcheck disable=SC2016
	(cd "$dir" && "$top/scripts/vm" --log "$dir/console.log" "${options[@]}" -- bash -c '
		export PERF_DEFERRED_SCALE=$1
		shift
		for p; do
			"./$p" >"$p.tap" 2>"$p.err"
			echo $? >"$p.rc"
		done' vm-tap "${VM_TAP_SCALE:-1}" "$@") >"$dir/vm.log" 2>&1 || status=$?
	for p; do
		rc=$(cat "$dir/$p.rc" 2>/dev/null || echo 'none: the VM ended first')
		touch "$dir/$p.tap"
		[ ! -s "$dir/$p.err" ] || sed "s/^/# $p: /" "$dir/$p.err"
		tap_add "$label$p" "$rc" "$dir/$p.tap"
	done
	if [ "$status" = 0 ]; then
		tap_ok "${label}the VM ends well"
	else
		tap_not_ok "${label}the VM ends well" <"$dir/vm.log"
	fi
}

# copy_selftests: copy the selftests to $selftests-debug, but not the files that they may be writing
# at the same time in the VM of the other kernel
copy_selftests() {
	local f

	rm -rf "$selftests-debug"
	mkdir -p "$selftests-debug"
	for f in "$selftests"/*; do
		case ${f##*/} in
		*.[oa] | *.log | *.tap | *.err | *.rc | chain.*) ;;
		*) [ ! -f "$f" ] || cp "$f" "$selftests-debug/" ;;
		esac
	done
}
