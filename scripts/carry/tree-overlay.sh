# shellcheck shell=bash
# The overlay of the tree: links to our own files in the repo.

# overlay_put FILE: make the link of one file
overlay_put() {
	local f=$1 to

	to=$(realpath -s --relative-to="$tree/$(dirname "$f")" "$top/$f")
	if [ -L "$tree/$f" ]; then
		[ "$(readlink "$tree/$f")" != "$to" ] || return 0
	elif [ -e "$tree/$f" ]; then
		! tgit ls-files --error-unmatch -- "$f" >/dev/null 2>&1 ||
			die "$f is a file of the base: change it with a hook, not with an overlay"
		cmp -s "$tree/$f" "$top/$f" ||
			die "$f in the tree is no longer a link and differs: move it to the repo, or remove it"
	fi
	mkdir -p "$tree/$(dirname "$f")"
	ln -sfn "$to" "$tree/$f"
}

# overlay_drop FILE: remove the link of a file that is no longer in the repo
overlay_drop() {
	if [ -L "$tree/$1" ]; then
		rm -f "$tree/$1"
		(cd "$tree" && rmdir -p --ignore-fail-on-non-empty "$(dirname "$1")" 2>/dev/null) || :
	fi
}

overlay_link() {
	local now=$tree/.git/overlay.new was=$tree/.git/overlay f

	base_overlay_files >"$now"
	touch "$was"
	LC_ALL=C comm -13 "$now" "$was" | while IFS= read -r f; do
		overlay_drop "$f"
	done
	while IFS= read -r f; do
		overlay_put "$f"
	done <"$now"
	sed 's,^,/,' "$now" >"$tree/.git/info/exclude"
	mv "$now" "$was"
}
