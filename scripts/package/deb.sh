# shellcheck shell=bash disable=SC2034
# Shared by the programs that make packages, on top of lib.sh: flavours, names and versions.
# FLAVOUR=amd64 or cloud: the flavour of Debian's configuration. REVISION=1: revision of our
# packages for the same version of Debian's; it is part of the kernel's name, so that two revisions
# can be installed. DEB_CONFIG=FILE: your own configuration instead of Debian's; FLAVOUR is then any
# name for it.

flavour=${FLAVOUR:-amd64}
case $flavour in
amd64) ;;
cloud | cloud-amd64) flavour=cloud-amd64 ;;
*)
	[[ ${DEB_CONFIG-} && $flavour =~ ^[a-z0-9][a-z0-9-]*$ ]] ||
		die "unknown flavour '$flavour': FLAVOUR=amd64 or FLAVOUR=cloud"
	;;
esac
revision=${REVISION:-1}
[[ $revision =~ ^[1-9][0-9]*$ ]] || die "REVISION=$revision is not a number from 1"
deb=$build/deb
# the package of perf is that of the base 6.12, for all kernels
[ "$BASE" = "$PERF_BASE" ] || deb+=-$BASE
deb_src=$deb/linux
deb_repo=${DEB_REPO:-$deb/repo}
deb_out=$deb/$flavour
deb_perf=$build/deb/perf

# deb_version_of BASE: print the version of our packages of that base. It is above Debian's version,
# and below its next one: an update, +deb13u1, or a rebuild, +b1
deb_version_of() {
	local version

	version=$(BASE=$1 "$top/scripts/carry/base-source" --version)
	[ -n "$version" ] || die "linux-source-$1 is not installed: scripts/deps"
	echo "$version+0perfdeferred$revision"
}

# deb_names: set base_version, deb_version and kernel_release from the version of the base's package
deb_names() {
	deb_version=$(deb_version_of "$BASE")
	base_version=${deb_version%+0perfdeferred*}
	kernel_release=${base_version%%-*}-perf-deferred$revision-$flavour
	deb_debs=(
		"$deb_out/linux-image-${kernel_release}_${deb_version}_amd64.deb"
		"$deb_out/linux-headers-${kernel_release}_${deb_version}_amd64.deb"
	)
	perf_deb=$deb_perf/linux-perf-deferred_$(deb_version_of "$PERF_BASE")_amd64.deb
}

# deb_suite: print the release of Debian that this machine runs
deb_suite() {
	sed -n 's/^VERSION_CODENAME=//p' /etc/os-release
}

# deb_mirrors SUITE: print lines of sources.list for Debian and its security updates, with the
# mirrors of this machine
deb_mirrors() {
	# shellcheck disable=SC2016
	apt-get indextargets --format '$(REPO_URI) $(LABEL)' 'Created-By: Packages' | sort -u |
	while read -r uri label; do
		case $label in
		Debian) echo "deb $uri $1 main" ;;
		Debian-Security) echo "deb $uri $1-security main" ;;
		esac
	done
}

# deb_state: print text that changes whenever the series changes
deb_state() {
	tgit rev-parse made
	base_overlay_files | (cd "$top" && tr '\n' '\0' | xargs -0 sha256sum)
}

# deb_tree: make a tree of the series with copies of the overlay's files, because links would end
# up in the headers package. Only changed files get a new date.
deb_tree() {
	local state

	mkdir -p "$deb"
	exec 7>"$deb/.tree.lock"
	flock 7
	"$top/scripts/tree" make >&2
	state=$(deb_state | sha256sum)
	if [ "$state" != "$(cat "$deb/.tree.state" 2>/dev/null)" ] || [ ! -e "$deb_src/.git" ] ||
		! tgit -C "$deb_src" rev-parse -q --verify HEAD >/dev/null 2>&1; then
		"$top/scripts/series" --no-check >&2
		deb_checkout
		echo "$state" >"$deb/.tree.state"
	fi
	exec 7>&-
}

deb_checkout() {
	if ! tgit -C "$deb_src" rev-parse -q --verify HEAD >/dev/null 2>&1; then
		rm -rf "$deb_src"
		tgit worktree prune
		say "checking out $deb_src" >&2
		tgit worktree add -q --detach "$deb_src" series
	fi
	tgit -C "$deb_src" checkout -q -f --detach series
}

# deb_date: print the date of the newest change, so that it is the same for the same series
deb_date() {
	tgit log -1 --format=%cd --date=format:%Y-%m-%d "$(deb_head)"
}

# deb_head: print the commit that the packages are built from
deb_head() {
	tgit -C "$deb_src" rev-parse HEAD
}

# deb_needs GIB WHAT: fail if there is not enough space where the packages are built
deb_needs() {
	local free

	mkdir -p "$deb"
	free=$(($(df --output=avail -k "$deb" | tail -n 1) / 1024 / 1024))
	[ "$free" -ge "$1" ] || die "$2 needs $1 GiB in $deb, $free GiB are free"
}
