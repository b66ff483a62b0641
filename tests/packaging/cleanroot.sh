#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# cleanroot.sh RELEASE [WHEEL]: installs and uses the wheel in a minimal root of that Debian release, with Python alone.
# Needs root and mmdebstrap, and a wheel for the Python of that release; ends with 77 and says why where it cannot.
set -euo pipefail
release=$1
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
skip() { echo "skipped: $*"; exit 77; }

case $release in
bookworm) fits='cp311|-py3-none-' how='./dev wheel' ;;
trixie) fits='cp313|abi3|-py3-none-' how='PYTHON=python3.12 ./dev wheel' ;;
*) skip "nobody said which Python $release has" ;;
esac
wheel=${2:-${RETRO_WHEEL:-}}
[ -n "$wheel" ] ||
    wheel=$(ls -t "$root"/build/dist/retrograde-*.whl 2>/dev/null | grep -E "$fits" | head -n 1 || true)
[ -n "$wheel" ] || skip "there is no wheel for $release in build/dist; make it with $how"
[ "$(id -u)" -eq 0 ] || skip "a clean root can only be made by root"
command -v mmdebstrap >/dev/null || skip "there is no mmdebstrap"
basename "$wheel" | grep -qE "$fits" || skip "$(basename "$wheel") is not for the Python of $release"

work=$(mktemp -d)
trap 'umount "$work/root/proc" 2>/dev/null; rm -rf --one-file-system "$work"' EXIT
mmdebstrap --quiet --variant=minbase --include=python3,python3-venv,python3-pip,ca-certificates \
    "$release" "$work/root" >"$work/log" 2>&1 || skip "mmdebstrap made no root of $release: $(tail -n 1 "$work/log")"
for library in libQt6Core.so.6 libprotobuf.so.32 libdnnl.so.2 libX11.so.6 libfontconfig.so.1 libgvc.so.6; do
    found=$(find "$work/root/usr/lib" -name "$library" -print -quit)
    [ -z "$found" ] || { echo "the root is not clean: $found"; exit 1; }
done
mkdir -p "$work/root/work"
cp -r "$root/samples" "$root/tests/packaging/useinstalled.sh" "$wheel" "$work/root/work/"
cp /etc/resolv.conf "$work/root/etc/" 2>/dev/null || true
for file in /etc/pip.conf "$HOME/.config/pip/pip.conf" "$HOME/.pip/pip.conf"; do
    [ -f "$file" ] && cp "$file" "$work/root/etc/pip.conf"
done
# numpy comes with pip as for everybody; where the root has no network, from here.
mkdir -p "$work/root/work/wheels"
version=$(chroot "$work/root" python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])')
python3 -m pip download -q --only-binary :all: --python-version "$version" -d "$work/root/work/wheels" numpy \
    || skip "numpy for Python $version cannot be had"
mount -t proc proc "$work/root/proc"
chroot "$work/root" /bin/bash -euc '
    export LC_ALL=C.UTF-8 HOME=/root
    python3 -m venv /env
    find /env /root -not -path "*__pycache__*" | sort >/before
    /env/bin/pip install -q --no-index --find-links /work/wheels /work/retrograde-*.whl
    bash /work/useinstalled.sh /env/bin /work/samples /work/out
    /env/bin/pip uninstall -q -y retrograde numpy
    find /env /root -not -path "*__pycache__*" | sort >/after
    rm -rf /root/.cache
    diff /before <(find /env /root -not -path "*__pycache__*" | sort) && echo "nothing is left"
'
