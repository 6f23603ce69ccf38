# shellcheck shell=bash
# For measurements in a VM.  Its root file system is 9p: processes do not share the unwind rules of
# its files, and each open() waits for the host.  So programs and the files that they read are
# copied to /dev/shm and bind-mounted over the originals.

copies=/dev/shm/copies

# loaded_files PROGRAM...: print the programs, and the libraries that they map
loaded_files() {
	local path

	for path; do
		path=$(realpath "$path")
		echo "$path"
		ldd "$path" 2>/dev/null | grep -o '/[^ ]*' | xargs -r realpath
	done
}

mount_copies() {
	local path

	while read -r path; do
		mkdir -p "$copies${path%/*}"
		cp -p "$path" "$copies$path"
		mount --bind "$copies$path" "$path"
	done < <(sort -u)
}

mount_copy_of_folder() {
	mkdir -p "$copies$1"
	cp -a "$1/." "$copies$1"
	mount --bind "$copies$1" "$1"
}
