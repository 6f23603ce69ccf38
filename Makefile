# The targets of the project; each runs a small program in scripts/.
# BASE chooses the base; DEBUG=1, UNWIND=n and SAN=1 choose kinds of builds; SECTION chooses
# a section of the series.

BASE ?= 6.12
export BASE

.DEFAULT_GOAL := help
.PHONY: help tree hooks menuconfig kernel perf series series-check sparse deb deb-perf \
	deb-repo bench demo check debug-check clean

help:
	@echo 'make tree          prepare build/$(BASE)/linux: base, hooks, overlay'
	@echo 'make hooks         save edits made there in patches/$(BASE)/'
	@echo 'make menuconfig    choose the options of a kernel; Kconfig lists those of the series'
	@echo 'make kernel        build/$(BASE)/bzImage; DEBUG=1: with KASAN, lockdep and the like;'
	@echo '                   UNWIND=n: with the options of the series off'
	@echo 'make perf          build/perf/perf; SAN=1: with ASan, UBSan and libFuzzer, in'
	@echo '                   build/perf-san; BASE=7.3: build/7.3/perf/perf'
	@echo 'make series        build/$(BASE)/series/SECTION/: patches to send, checked with checkpatch'
	@echo 'make series-check  apply these patches one by one, and build after each (long);'
	@echo '                   SECTION=tables: only the patches of that section'
	@echo 'make deb           packages of kernel, headers and perf, from the configuration of'
	@echo '                   Debian'"'"'s kernel (FLAVOUR=cloud: of its cloud kernel; long), and'
	@echo '                   a repository of them'
	@echo 'make deb-perf      linux-perf-deferred: perf as a package of Debian, in build/deb/perf'
	@echo 'make deb-repo      build/deb/repo: a repository for apt; KEY=ID signs it'
	@echo 'make sparse        check the kernel files of the overlay with sparse'
	@echo 'make bench         measure; prints tables'
	@echo 'make demo          scripts/demo: from nothing to a call graph'
	@echo 'make check         scripts/check: the tests for every change'
	@echo '                   (scripts/check --full: all but the longest tests)'
	@echo "make debug-check   tests on kernels with KASAN, lockdep and the like, and PREEMPT_RT"
	@echo 'make clean         remove build/'

tree:
	@scripts/tree make

hooks:
	@scripts/tree save

menuconfig: tree
	@scripts/make/kernel --menu

kernel: tree
	@scripts/make/kernel $(if $(filter 1 y,$(DEBUG)),--debug) $(if $(filter n 0,$(UNWIND)),--no-unwind)

perf:
	@scripts/make/perf-build $(if $(filter 1 y,$(SAN)),--san,$(if $(filter-out 6.12,$(BASE)),--base))

series: tree
	@scripts/series

series-check: tree
	@scripts/carry/series-check $(SECTION)

sparse: tree
	@scripts/make/kernel --sparse

deb:
	@scripts/package/deb

deb-perf:
	@scripts/package/deb-perf

deb-repo:
	@scripts/package/deb-repo

bench: kernel perf
	@scripts/bench

demo:
	@scripts/demo

check:
	@scripts/check

debug-check:
	@PERF_TEST_ALL=all scripts/check --full debug kinds

clean:
	rm -rf build
