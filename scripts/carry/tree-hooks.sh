# shellcheck shell=bash
# The hooks of the tree: each is a commit. The commits are made outside the work
# tree, so that a changed hook touches only the files whose contents change.

# tree_is_clean: check that no file of the base has uncommitted edits
tree_is_clean() {
	[ -z "$(tgit status --porcelain --untracked-files=no)" ]
}

# hooks_stamp: print a string that changes whenever the commits change
hooks_stamp() {
	{
		tgit rev-parse base
		series_hooks | while IFS= read -r hook; do
			echo "$hook"
			cat "$patches/$hook"
		done
	} | sha256sum
}

# hook_commit HOOK PARENT: commit the patch HOOK on top of PARENT; the index must have PARENT's
# files. The last lines of the message name the hook's section and the overlay files that it adds,
# and have the notes below the --- of the patch.
hook_commit() {
	local hook=$1 parent=$2 msg=$work/msg diff=$work/diff info=$work/info when

	tgit mailinfo "$msg" "$diff" <"$patches/$hook" >"$info" ||
		die "$hook is not a patch in mail format"
	when=$(sed -n 's/^Date: //p' "$info")
	as_us "${when:-$base_date}"
	if ! apply_to_index "$diff" 2>"$work/err"; then
		die "hook $hook does not apply to $(tgit log -1 --format=%s base):" \
			"$(say_reject "$work/err")"
	fi
	{
		sed -n 's/^Subject: //p' "$info"
		echo
		cat "$msg"
		echo
		echo "Section: ${hook%%/*}"
		sed -n -e '/^diff --git /q' -e '/^\(---\)\?$/d' -e 's/^+ /Overlay: /p' -e t \
			-e 's/^/Note: /p' "$diff"
	} | tgit stripspace >"$work/text"
	tgit commit-tree -p "$parent" -F "$work/text" "$(tgit write-tree)"
}

# hooks_commit: commit all hooks onto the base; prints the last commit
hooks_commit() {
	local head hook work

	work=$(mktemp -d "$bdir/.hooks.XXXXXX")
	# shellcheck disable=SC2064
	trap "rm -rf '$work'" EXIT
	export GIT_INDEX_FILE=$work/index
	tgit read-tree base
	head=$(tgit rev-parse base)
	for hook in $(series_hooks); do
		head=$(hook_commit "$hook" "$head")
	done
	echo "$head"
}

# hooks_made COMMIT STAMP: note that COMMIT has the hooks of patches/<base>/
hooks_made() {
	tgit tag -f made "$1" >/dev/null
	echo "$2" >"$tree/.git/hooks.stamp"
}

hooks_prepare() {
	local stamp new head

	[ -n "$(series_hooks)" ] || die "no hooks for base $BASE in $patches"
	stamp=$(hooks_stamp)
	[ "$stamp" != "$(cat "$tree/.git/hooks.stamp" 2>/dev/null)" ] || return 0
	new=$(hooks_commit)
	head=$(tgit rev-parse HEAD)
	if [ "$new" != "$head" ]; then
		[ "$head" = "$(tgit rev-parse made)" ] ||
			die "$tree has commits of its own and patches/$BASE changed:" \
				"move them away, or drop them with git reset --hard made"
		tree_is_clean ||
			die "$tree has uncommitted edits and patches/$BASE changed:" \
				"git stash them there, then make tree"
		tgit checkout -q -B main "$new"
		say "$(tgit rev-list --count base..main) hooks on $(tgit log -1 --format=%s base)"
	fi
	hooks_made "$new" "$stamp"
}
