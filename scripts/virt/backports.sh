# shellcheck shell=bash
# Packages of the backports of Debian 13, on whatever release the machine has.

# options for apt besides its configuration
apt_options=(-o APT::Sandbox::User=root)

# debian_mirror: print apt's mirror of Debian
debian_mirror() {
	apt-get indextargets --format '$(REPO_URI) $(LABEL) $(CODENAME)' 'Created-By: Packages' |
		awk '$2 == "Debian" { print $1; exit }'
}

# use_backports FOLDER: let apt read only the list of the backports, in the folder, and none of the
# machine's lists
use_backports() {
	local mirror

	mirror=$(debian_mirror)
	[ -n "$mirror" ] || die "apt has no Debian mirror in its sources"
	mkdir -p "$1/lists/partial"
	echo "deb $mirror trixie-backports main" >"$1/sources.list"
	apt_options+=(-o "Dir::State::Lists=$1/lists" -o "Dir::Cache=$1"
		-o "Dir::Etc::SourceList=$1/sources.list" -o Dir::Etc::SourceParts=/dev/null)
}
