# shellcheck shell=bash
# Save edits and commits of the tree in patches/<base>/. The work tree is never
# touched; all commits are made in a separate index.

# edited_files: print the files of the base with uncommitted edits
edited_files() {
	tgit diff --name-only HEAD --
}

# stray_files: print new files that belong to no hook and are not links to the overlay
stray_files() {
	tgit ls-files -o --exclude-standard
}

# section_commits: print "SECTION COMMIT" for each commit of the tree, in the order of the
# sections. A commit that names no section belongs to the section of the commit before it.
section_commits() {
	local c section=${sections%% *} s

	tgit log --reverse --format='%H %(trailers:key=Section,valueonly,separator=%x20)' \
		base..HEAD |
	while read -r c s; do
		section=${s:-$section}
		[[ " $sections " = *" $section "* ]] || die "no section is called $section"
		echo "$section $c"
	done >"$work/commits"
	for section in $sections; do
		grep "^$section " "$work/commits" || :
	done
}

# fold_target FILE [SECTION/NNNN]: print the commit into which an edit of FILE is folded
fold_target() {
	if [ -n "$2" ]; then
		grep "^${2%/*} " "$work/plan" | sed -n "$((10#${2##*/}))s/.* //p"
	else
		tgit rev-list -1 base..HEAD -- "$1"
	fi
}

# fold_plan [SECTION/NNNN]: write to $work/fold.<commit> the edits to fold into that commit
fold_plan() {
	local f c

	while IFS= read -r f; do
		c=$(fold_target "$f" "$1")
		[ -n "$c" ] || die "no hook ${1:-touches $f}: say which with" \
			"scripts/tree save SECTION/NNNN, or commit the edit in the tree as a hook of its own"
		tgit diff --binary HEAD -- "$f" >>"$work/fold.$c"
		say "$f goes into: $(tgit log -1 --format=%s "$c")"
	done < <(edited_files)
}

# recommit COMMIT PARENT: commit COMMIT again on PARENT, with the edits that go into it
recommit() {
	local c=$1 parent=$2

	tgit diff-tree -p --binary "$c^" "$c" >"$work/diff"
	apply_to_index "$work/diff" 2>"$work/err" ||
		die "'$(tgit log -1 --format=%s "$c")' does not go with the edits:" \
			"$(say_reject "$work/err")"
	if [ -s "$work/fold.$c" ]; then
		apply_to_index "$work/fold.$c" 2>"$work/err" ||
			die "the edit does not fit at '$(tgit log -1 --format=%s "$c")':" \
				"$(say_reject "$work/err")"
	fi
	as_us "$(tgit log -1 --format=%aI "$c")"
	tgit log -1 --format=%B "$c" | tgit stripspace >"$work/text"
	tgit commit-tree -p "$parent" -F "$work/text" "$(tgit write-tree)"
}

# export_commit COMMIT FILE: write a patch whose text depends only on the commit
export_commit() {
	tgit -c core.abbrev=12 format-patch --stdout -1 -p -N --always --zero-commit \
		--no-signature --no-renames -U3 --src-prefix=a/ --dst-prefix=b/ "$1" |
	awk '
		function cut() { printf "\n---\n%s%s", overlay, note; body = 1 }
		/^diff --git / && !body { cut() }
		!body && /^Section: / { next }
		!body && /^Overlay: / { overlay = overlay "+ " substr($0, 10) "\n"; next }
		!body && /^Note: / { note = note substr($0, 7) "\n"; next }
		!body && /^$/ { blank = blank "\n"; next }
		/^index [0-9a-f]+\.\.[0-9a-f]+( [0-7]+)?$/ { next }
		{ printf "%s", body ? "" : blank; blank = ""; print }
		END { if (!body) cut() }' >"$2"
}

# same_but_lines OLD NEW: check that patches differ at most in line numbers, as they do after
# a change of the base
same_but_lines() {
	[ -e "$1" ] && cmp -s <(sed 's/^@@ .*/@@/' "$1") <(sed 's/^@@ .*/@@/' "$2")
}

# put_patches: copy $work/out to patches/<base>/; a patch that differs only in line numbers keeps its
# old text
put_patches() {
	local new old

	for new in "$work/out"/*/*.patch; do
		old=${new#"$work/out/"}
		old=$(echo "$patches/${old%%/*}"/[0-9]*"-${new#*/[0-9][0-9][0-9][0-9]-}")
		if same_but_lines "$old" "$new"; then
			cp "$old" "$new"
		else
			say "wrote patches/$BASE/${new#"$work/out/"}"
		fi
	done
	(cd "$patches" && series_hooks | xargs -r rm -f)
	cp -r "$work/out/." "$patches/"
}

save_edits() {
	local c head n=0 of= section stray

	[ "$(tgit rev-list --merges base..HEAD | wc -l)" = 0 ] ||
		die "the tree's history has a merge: rebase it onto the tag 'base' first"
	tgit merge-base --is-ancestor base HEAD || die "the tree's HEAD does not stand on the tag 'base'"
	[ "$(hooks_stamp)" = "$(cat "$tree/.git/hooks.stamp")" ] ||
		die "patches/$BASE changed since the tree was made: both sides have changes; merge by hand"
	stray=$(stray_files)
	[ -z "$stray" ] || say "not saved, new in the tree (put them into the repo, or git add them there):" "$stray"

	work=$(mktemp -d "$bdir/.save.XXXXXX")
	trap 'rm -rf "$work"' EXIT
	section_commits >"$work/plan"
	fold_plan "$1"
	export GIT_INDEX_FILE=$work/index
	tgit read-tree base
	head=$(tgit rev-parse base)
	while read -r section c; do
		[ "$section" = "$of" ] || n=0
		of=$section
		n=$((n + 1))
		mkdir -p "$work/out/$section"
		head=$(recommit "$c" "$head")
		export_commit "$head" \
			"$work/out/$section/$(printf '%04d-%.52s' "$n" "$(tgit log -1 --format=%f "$head")").patch"
	done <"$work/plan"
	put_patches

	# move the tree to the commits of the new patches, with its files unchanged
	head=$(hooks_commit)
	unset GIT_INDEX_FILE
	tgit reset -q --soft "$head"
	tgit reset -q
	tree_is_clean || die "the tree differs from its saved hooks: compare with git diff there"
	hooks_made "$head" "$(hooks_stamp)"
	say "$(wc -l <"$work/plan") hooks in patches/$BASE"
}
