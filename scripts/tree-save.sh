# shellcheck shell=bash
# The way back: edits and commits of the tree become patches/<base>/ again.
# The work tree itself is never touched; all commits are made in an index aside.

# edited_files: files of the base with uncommitted edits
edited_files() {
	tgit diff --name-only HEAD --
}

# stray_files: new files that are neither a hook's nor a link to the overlay
stray_files() {
	tgit ls-files -o --exclude-standard
}

# fold_target FILE [NNNN]: the commit that an edit of FILE goes into
fold_target() {
	if [ -n "$2" ]; then
		tgit rev-list --reverse base..HEAD | sed -n "$((10#$2))p"
	else
		tgit rev-list -1 base..HEAD -- "$1"
	fi
}

# fold_plan [NNNN]: into $work/fold.<commit>, the edits that go into that commit
fold_plan() {
	local f c

	while IFS= read -r f; do
		c=$(fold_target "$f" "$1")
		[ -n "$c" ] || die "no hook ${1:-touches $f}: say which with scripts/tree save NNNN," \
			"or commit the edit in the tree as a hook of its own"
		tgit diff --binary HEAD -- "$f" >>"$work/fold.$c"
		say "$f goes into: $(tgit log -1 --format=%s "$c")"
	done < <(edited_files)
}

# recommit COMMIT PARENT: COMMIT again, on PARENT, with its edits folded in
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

# export_commit COMMIT FILE: a patch whose text depends on nothing but the commit
export_commit() {
	tgit -c core.abbrev=12 format-patch --stdout -1 -p -N --always --zero-commit \
		--no-signature --no-renames -U3 --src-prefix=a/ --dst-prefix=b/ "$1" |
	sed -e '/^index [0-9a-f]*\.\.[0-9a-f]*\( [0-7]*\)\{0,1\}$/d' \
		-e '0,/^diff --git /s/^diff --git /---\n&/' >"$2"
}

# same_but_lines OLD NEW: only line numbers differ, as after a new base
same_but_lines() {
	[ -e "$1" ] && cmp -s <(sed 's/^@@ [^@]* @@/@@/' "$1") <(sed 's/^@@ [^@]* @@/@@/' "$2")
}

# hook_subject HOOK
hook_subject() {
	tgit mailinfo /dev/null /dev/null <"$1" | sed -n 's/^Subject: //p'
}

# match_old: for each new patch, the old hook it follows; by subject, then by order
match_old() {
	local i j s

	old_of=()
	local -A taken=()
	for i in "${!new_names[@]}"; do
		s=$(hook_subject "$work/out/${new_names[i]}")
		for j in "${!old_names[@]}"; do
			if [ -z "${taken[$j]-}" ] && [ "$s" = "$(hook_subject "$patches/${old_names[j]}")" ]; then
				old_of[i]=$j
				taken[$j]=1
				break
			fi
		done
	done
	if [ ${#new_names[@]} = ${#old_names[@]} ]; then
		for i in "${!new_names[@]}"; do
			[ -z "${old_of[i]-}" ] || continue
			for j in "${!old_names[@]}"; do
				[ -z "${taken[$j]-}" ] || continue
				old_of[i]=$j
				taken[$j]=1
				break
			done
		done
	fi
	for j in "${!old_names[@]}"; do
		[ -n "${taken[$j]-}" ] || [ -z "$(series_overlay "${old_names[j]}")" ] ||
			die "hook ${old_names[j]} is gone, but overlay files enter with it:" \
				"give them to another hook in patches/$BASE/series first"
	done
}

# series_block HOOK PART: the comments before HOOK (PART=before) or the lines after it
series_block() {
	awk -v want="$1" -v part="$2" '
		{ line = $0; sub(/[ \t]+$/, "", line) }
		line ~ /^\+/ { if (part == "after" && hook == want) print line; next }
		line ~ /^#/ || line == "" { held = held line "\n"; next }
		{ hook = line; if (part == "before" && hook == want) printf "%s", held; held = "" }
		END { if (part == "end") printf "%s", held }' "$patches/series"
}

# write_series: the new series file, with the comments and overlay of the old one
write_series() {
	local i old

	for i in "${!new_names[@]}"; do
		old=
		[ -z "${old_of[i]-}" ] || old=${old_names[${old_of[i]}]}
		[ -z "$old" ] || series_block "$old" before
		echo "${new_names[i]}"
		[ -z "$old" ] || series_block "$old" after
	done
	series_block '' end
}

# put_patches: $work/out becomes patches/<base>/, rewriting only what changed
put_patches() {
	local i old new

	mkdir "$work/was"
	for old in "${old_names[@]}"; do
		mv "$patches/$old" "$work/was/"
	done
	for i in "${!new_names[@]}"; do
		new=$work/out/${new_names[i]}
		old=
		[ -z "${old_of[i]-}" ] || old=$work/was/${old_names[${old_of[i]}]}
		if [ -n "$old" ] && same_but_lines "$old" "$new"; then
			mv "$old" "$patches/${new_names[i]}"
		else
			mv "$new" "$patches/${new_names[i]}"
			say "wrote patches/$BASE/${new_names[i]}"
		fi
	done
	cmp -s "$work/series" "$patches/series" || cp "$work/series" "$patches/series"
}

save_edits() {
	local c head n=0 name stray

	[ "$(tgit rev-list --merges base..HEAD | wc -l)" = 0 ] ||
		die "the tree's history has a merge: rebase it onto the tag 'base' first"
	tgit merge-base --is-ancestor base HEAD || die "the tree's HEAD does not stand on the tag 'base'"
	[ "$(hooks_stamp)" = "$(cat "$tree/.git/hooks.stamp")" ] ||
		die "patches/$BASE changed since the tree was made: both sides have news; merge by hand"
	stray=$(stray_files)
	[ -z "$stray" ] || say "not saved, new in the tree (put them into the repo, or git add them there):" "$stray"

	work=$(mktemp -d "$bdir/.save.XXXXXX")
	trap 'rm -rf "$work"' EXIT
	mkdir "$work/out"
	fold_plan "$1"
	export GIT_INDEX_FILE=$work/index
	tgit read-tree base
	head=$(tgit rev-parse base)
	new_names=()
	while IFS= read -r c; do
		head=$(recommit "$c" "$head")
		n=$((n + 1))
		name=$(printf '%04d-%.52s.patch' "$n" "$(tgit log -1 --format=%f "$head")")
		export_commit "$head" "$work/out/$name"
		new_names+=("$name")
	done < <(tgit rev-list --reverse base..HEAD)
	mapfile -t old_names < <(series_hooks)
	match_old
	write_series >"$work/series"
	put_patches

	# the tree goes on from the commits that its patches give, its files as they are
	head=$(hooks_commit)
	unset GIT_INDEX_FILE
	tgit reset -q --soft "$head"
	tgit reset -q
	tree_is_clean || die "the tree differs from its saved hooks: compare with git diff there"
	hooks_made "$head" "$(hooks_stamp)"
	say "$n hooks in patches/$BASE"
}
