# shellcheck shell=bash disable=SC2034
# Shared by the programs in this folder: paths and helper functions.

set -eu -o pipefail
shopt -s inherit_errexit

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
BASE=${BASE:-6.12}
# 7 stands for the newest 7.x with hooks
[[ $BASE = *.* ]] || BASE=$(cd "$top/patches" && printf '%s\n' "$BASE".* | sort -V | tail -n 1)
build=$top/build
# folder for the output of the tests; tests on the debug kernel have a folder of their own
check=$build/check
[ "${PERF_DEFERRED_DEBUG-}" != 1 ] || check=$build/check/debug
bdir=$build/$BASE
tree=$bdir/linux
patches=$top/patches/$BASE
# The sections in the order in which they apply. A base need not have all of them.
sections='fixes deferral perf-kernel perf-tool tables static shared code in-place off-cpu tests'
# An option that a section adds. Until that section, the files of the series lack the lines between
# "#ifdef CONFIG_UNWIND_USER_..." of the option and #endif.
declare -A section_option=([tables]=EH_FRAME [static]=EH_INDEX [shared]=FILES [code]=CODE [in-place]=IN_PLACE)
# perf is one program for all kernels: the tests use that of this base
PERF_BASE=${PERF_BASE:-6.12}
selftests=$build/selftests
# the tests of another base have folders of their own
if [ "$BASE" != "$PERF_BASE" ]; then
	check=$build/check/$BASE${check#"$build/check"}
	selftests=$build/selftests-$BASE
fi
perf_tree=$build/$PERF_BASE/linux
cache=${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/perf-deferred
jobs=${JOBS:-$(nproc)}
ident='perf-deferred <perf-deferred@localhost>'
# let ccache serve clones at other paths
export CCACHE_BASEDIR=$top CCACHE_NOHASHDIR=1

die() {
	echo "${0##*/}: $*" >&2
	exit 1
}

say() {
	echo "${0##*/}: $*"
}

# tgit ARGS: run git in the prepared tree, independent of the user's configuration
tgit() {
	GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null \
	GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory \
	GIT_CONFIG_VALUE_0='*' git -C "$tree" "$@"
}

# as_us [DATE]: export the fixed identity for commits in the tree
as_us() {
	export GIT_AUTHOR_NAME=perf-deferred GIT_COMMITTER_NAME=perf-deferred
	export GIT_AUTHOR_EMAIL=perf-deferred@localhost
	export GIT_COMMITTER_EMAIL=perf-deferred@localhost
	if [ $# -gt 0 ]; then
		export GIT_AUTHOR_DATE=$1 GIT_COMMITTER_DATE=$1
	fi
}

# overlay_files: print the repo's files that belong in the tree
overlay_files() {
	git -C "$top" ls-files -co --exclude-standard -- ':(glob)*/**' \
		':!patches' ':!scripts' ':!build' ':!.ci' |
	LC_ALL=C sort -u |
	while IFS= read -r f; do
		if [ -e "$top/$f" ]; then
			printf '%s\n' "$f"
		fi
	done
}

# base_overlay_files: print the overlay files of this base: all, or on another base than that of the
# whole series those that its hooks name
base_overlay_files() {
	local hook

	if [ "$BASE" = "$PERF_BASE" ]; then
		overlay_files
	else
		for hook in $(series_hooks); do
			hook_overlay "$hook"
		done | LC_ALL=C sort -u | LC_ALL=C comm -12 - <(overlay_files)
	fi
}

# missing_stacks DATA: print the number of samples without a user half because their
# record is missing
missing_stacks() {
	"$build/perf/perf" report --stats -i "$1" 2>/dev/null |
		awk '/^ *incomplete: / { n = $2 } END { print n + 0 }'
}

# series_hooks [SECTION]: print the hooks of the base, in order, as SECTION/NNNN-NAME.patch
series_hooks() {
	local section

	for section in ${1:-$sections}; do
		(cd "$patches" && printf '%s\n' "$section"/[0-9]*.patch) | grep -v '\*' || :
	done
}

# hook_overlay HOOK: print the overlay files that the hook adds. The patch names them
# below its message; a name that ends in a slash means all files in that folder.
hook_overlay() {
	sed -n -e '/^diff --git /q' -e 's/^+ //p' "$patches/$1" |
	while IFS= read -r f; do
		case $f in
		*/) overlay_files | awk -v dir="$f" 'index($0, dir) == 1' ;;
		*) printf '%s\n' "$f" ;;
		esac
	done
}

# overlay_at SECTION FILE: print an overlay file as it is in SECTION, without the lines of the
# options of later sections and those of other bases
overlay_at() {
	local section later=() status=0 only_for='CONFIG_UNWIND_USER_|PERF_ATTR_SIZE_VER9|UNWIND_ENTRIES_OF_OTHERS'

	case $2 in
	*.[ch]) ;;
	*) cat "$top/$2"; return ;;
	esac
	for section in ${sections##*"$1"}; do
		[ -z "${section_option[$section]-}" ] ||
			later+=("-UCONFIG_UNWIND_USER_${section_option[$section]}")
	done
	# the first macro is of perf of Linux 7.3, the second one of our deferral
	if [ "$BASE" = "$PERF_BASE" ]; then
		later+=(-UPERF_ATTR_SIZE_VER9 -DUNWIND_ENTRIES_OF_OTHERS)
	else
		later+=(-DPERF_ATTR_SIZE_VER9 -UUNWIND_ENTRIES_OF_OTHERS)
	fi
	if ! grep -qE "^#.*($only_for)" "$top/$2"; then
		cat "$top/$2"
	else
		# 1 means that lines were removed
		unifdef -B "${later[@]}" "$top/$2" || status=$?
		[ "$status" -le 1 ]
	fi
}

# apply_to_index FILE: apply a patch to the current index, without fuzz
apply_to_index() {
	if grep -q '^diff --git ' "$1"; then
		tgit apply --cached --whitespace=nowarn "$1"
	fi
}

# say_reject LOG: print the files and lines that git apply refused, on one line
say_reject() {
	sed -n -e 's/^error: patch failed: \(.*\):\([0-9]*\)$/\1 (hunk at line \2)/p' \
		-e 's/^error: \(.*\): No such file or directory$/\1 (no such file)/p' \
		-e 's/^error: \(.*\): does not exist in index$/\1 (no such file)/p' \
		-e 's/^error: \(.*\): already exists in index$/\1 (already there)/p' \
		-e 's/^error: \(corrupt patch.*\)$/\1/p' "$1" |
	LC_ALL=C sort -u | paste -sd, | sed 's/,/, /g'
}

# as_root CMD: run a command as root, through sudo where needed
as_root() {
	if [ "$(id -u)" = 0 ]; then
		"$@"
	else
		# in the background, a password prompt would wait forever
		sudo $([ -t 0 ] || echo -n) "$@"
	fi
}

# apt_get ARGS: run apt-get, but wait while another process holds one of apt's locks. apt's
# own timeout covers only one of these locks.
apt_get() {
	local out status end=$((SECONDS + ${APT_WAIT:-300})) said=

	while :; do
		status=0
		out=$(as_root env DEBIAN_FRONTEND=noninteractive LC_ALL=C apt-get -qq -y \
			-o Dpkg::Use-Pty=0 "$@" 2>&1) || status=$?
		case $status,$out in
		0,*) break ;;
		*'Could not get lock'* | *'Unable to lock'*) ;;
		*) break ;;
		esac
		[ "$SECONDS" -lt "$end" ] || break
		[ -n "$said" ] || say "waiting for the process that holds apt's lock" >&2
		said=1
		sleep 2
	done
	[ -z "$out" ] || printf '%s\n' "$out"
	return "$status"
}

# took SECONDS_AT_START: print the time since then
took() {
	echo "$((SECONDS - $1)) s"
}

mkdir -p "$bdir"
