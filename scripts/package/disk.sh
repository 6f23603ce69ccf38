# shellcheck shell=bash
# Functions that boot a VM from a disk image, and run commands in it through ssh. They need lib.sh.
# Other programs call disk_start, disk_run, disk_copy, disk_fetch and disk_stop.

disk_key=$build/deb/image/key
disk_qemu=
disk_port=
disk_log=
# how long to wait for the VM to start or to stop, in seconds
disk_wait=${DISK_WAIT:-600}

disk_make_key() {
	mkdir -p "${disk_key%/*}"
	[ -e "$disk_key" ] || ssh-keygen -q -t ed25519 -N '' -C perf-deferred -f "$disk_key"
}

disk_ssh_options() {
	echo -o BatchMode=yes -o ConnectTimeout=60 -o StrictHostKeyChecking=no -o LogLevel=ERROR \
		-o UserKnownHostsFile=/dev/null -o ServerAliveInterval=60 -o ServerAliveCountMax=10 \
		-i "$disk_key"
}

# disk_run CMD: run a shell command as root; exits with its status
disk_run() {
	# shellcheck disable=SC2046
	ssh $(disk_ssh_options) -p "$disk_port" root@127.0.0.1 "$1" </dev/null
}

# disk_copy FILE... FOLDER: copy files into the VM
disk_copy() {
	local to=${*: -1}

	# shellcheck disable=SC2046
	scp -q -r $(disk_ssh_options) -P "$disk_port" "${@:1:$#-1}" "root@127.0.0.1:$to" </dev/null
}

# disk_fetch FILE... FOLDER: copy files out of the VM
disk_fetch() {
	local to=${*: -1}

	# shellcheck disable=SC2046
	scp -q -r $(disk_ssh_options) -P "$disk_port" "${@:1:$#-1}" "$to" </dev/null
}

disk_free_port() {
	python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

# disk_start IMAGE FOLDER [QEMU-OPTION...]: boot, and wait until ssh answers. The kernel's log and
# grub's are added to FOLDER/console.log. DISK_ACCEL replaces the options -accel and -smp of qemu.
disk_start() {
	local image=$1 format=raw end=$((SECONDS + disk_wait)) seen
	local accel=${DISK_ACCEL:--accel tcg,thread=single -smp 2}

	case $image in *.qcow2) format=qcow2 ;; esac
	disk_log=$2/console.log
	seen=$(stat -c %s "$disk_log" 2>/dev/null || echo 0)
	disk_port=$(disk_free_port)
	# shellcheck disable=SC2086
	qemu-system-x86_64 $accel -cpu max -M pc -m 1536 -nodefaults -no-user-config -display none \
		-drive "file=$image,format=$format,if=virtio,cache=unsafe" \
		-netdev "user,id=net,restrict=on,hostfwd=tcp:127.0.0.1:$disk_port-:22" \
		-device virtio-net-pci,netdev=net -device virtio-rng-pci \
		-chardev "file,id=log,path=$disk_log,append=on" -serial chardev:log "${@:3}" \
		</dev/null >"$2/qemu.log" 2>&1 9>&- &
	disk_qemu=$!
	until disk_run true 2>/dev/null; do
		if ! kill -0 "$disk_qemu" 2>/dev/null; then
			echo "the VM has ended: see $2/qemu.log and $disk_log" >&2
			cat "$2/qemu.log" >&2
			return 1
		fi
		if tail -c "+$((seen + 1))" "$disk_log" | grep '\] Kernel panic' >&2; then
			echo "the VM does not boot: see $disk_log" >&2
			disk_kill
			return 1
		fi
		if [ "$SECONDS" -ge "$end" ]; then
			echo "no answer from the VM after $disk_wait s: see $disk_log" >&2
			tail -n 20 "$disk_log" >&2
			disk_kill
			return 1
		fi
		sleep 2
	done
}

# disk_stop: shut the VM down, as an administrator would
disk_stop() {
	local end=$((SECONDS + disk_wait))

	disk_run 'systemctl poweroff' 2>/dev/null || :
	while kill -0 "$disk_qemu" 2>/dev/null; do
		if [ "$SECONDS" -ge "$end" ]; then
			echo "the VM does not turn off: see $disk_log" >&2
			disk_kill
			return 1
		fi
		sleep 1
	done
	disk_qemu=
}

disk_kill() {
	[ -z "$disk_qemu" ] || kill "$disk_qemu" 2>/dev/null || :
	disk_qemu=
}
