# shellcheck shell=bash
# The base of the tree: Debian's linux-source package as one commit, tagged "base".

base_date='2025-01-01T00:00:00Z'

# base_stamp: print a string that identifies the point release
base_stamp() {
	stat -L -c '%s %Y' "$tarball"
}

# base_import GITDIR FOLDER: commit FOLDER as the base
base_import() {
	local gitdir=$1 folder=$2 version id

	version=$(make -s -C "$folder" kernelversion)
	export GIT_DIR=$gitdir GIT_WORK_TREE=$folder GIT_INDEX_FILE=$gitdir/import
	rm -f "$GIT_INDEX_FILE"
	as_us "$base_date"
	(cd "$folder" && git -c core.fsync=none -c core.looseCompression=1 \
		-c core.safecrlf=false add -A -f .)
	id=$(git commit-tree -m "Linux $version" "$(git write-tree)")
	git tag -f base "$id" >/dev/null
	unset GIT_DIR GIT_WORK_TREE
	mv "$GIT_INDEX_FILE" "$gitdir/index.import"
	unset GIT_INDEX_FILE
	say "base is Linux $version"
}

# base_unpack FOLDER: unpack the base's source
base_unpack() {
	rm -rf "$1"
	mkdir -p "$1"
	say "unpacking $tarball"
	tar -xf "$tarball" -C "$1" --strip-components=1
}

base_create() {
	base_unpack "$tree.new"
	git init -q -b main "$tree.new"
	git -C "$tree.new" config gc.auto 0
	git -C "$tree.new" config user.name perf-deferred
	git -C "$tree.new" config user.email perf-deferred@localhost
	base_import "$tree.new/.git" "$tree.new"
	mv "$tree.new/.git/index.import" "$tree.new/.git/index"
	git -C "$tree.new" update-ref refs/heads/main base
	git -C "$tree.new" update-ref refs/tags/made base
	rm -rf "$tree"
	mv "$tree.new" "$tree"
}

# Commit the new base, but do not check it out: hooks_prepare() does that.
base_replace() {
	if ! tree_is_clean || [ "$(tgit rev-parse HEAD)" != "$(tgit rev-parse made)" ]; then
		die "$tree has edits and the base has changed: scripts/tree save"
	fi
	base_unpack "$tree.new"
	base_import "$tree/.git" "$tree.new"
	rm -rf "$tree.new" "$tree/.git/index.import"
}

base_prepare() {
	tarball=${BASE_TARBALL:-$("$top/scripts/carry/base-source")}
	[ -e "$tarball" ] || die "$tarball is missing: install linux-source-$BASE"
	if [ ! -d "$tree/.git" ]; then
		[ ! -e "$tree" ] || die "$tree is not a git tree: move it away"
		base_create
	elif [ "$(cat "$tree/.git/base.stamp" 2>/dev/null)" != "$(base_stamp)" ]; then
		base_replace
	fi
	base_stamp >"$tree/.git/base.stamp"
}
